import { getAccount, logout } from '@berth/contract/account'
import i18next from 'i18next'
import { clearCache, onUnseen, registerReader, resumeCache } from '../api/cache-lifecycle.ts'
import { createCauseFilter } from '../api/cause-filter.ts'
import { sendChange } from '../api/change.ts'
import { request, startApi } from '../api/client.ts'
import { connection, whenBack } from '../api/connection.ts'
import { createIdempotencyKeys, type KeyStorage } from '../api/idempotency-keys.ts'
import { startToasts, toast } from '../ui/toast.ts'
import { createFailureReactions } from './failure-reactions.ts'

import { currentLanguage, type Namespace, startI18n } from './i18n.ts'
import { guestPage, isOpenPath } from './pages.ts'

import { referralCodeOf } from './referral-code.ts'
import { askToConfirm } from './session/confirm-sign-in.ts'
import { writeLeaveNote } from './session/leave-note.ts'
import { HOME_PATH } from './session/redirect-target.ts'
import { session, startSession } from './session/session.ts'
import {
  clearSessionCookies,
  readToken,
  TOKEN_KEY,
  writeReferralCode,
  writeSessionCookies,
  writeToken,
} from './session/session-storage.ts'
import { createSession } from './session/session-store.ts'
import { usableAccount } from './session/usable-account.ts'
import { drawToastLazily } from './toast-loader.ts'

/** `sessionStorage`, touched only when it is used: where storage is switched off, naming it already throws. */
const tabStorage: KeyStorage = {
  getItem: name => sessionStorage.getItem(name),
  setItem: (name, value) => sessionStorage.setItem(name, value),
  removeItem: name => sessionStorage.removeItem(name),
}

/**
 * Wires the parts of the console to each other, starts looking who is signed in, and waits for the first texts.
 * @param namespaces Those of the page that opens, beside those that every page needs.
 */
export async function start(namespaces: readonly Namespace[]): Promise<void> {
  const referralCode = referralCodeOf(location.search)
  if (referralCode !== null) writeReferralCode(referralCode)
  startToasts(drawToastLazily)
  const react = createFailureReactions({
    isOpenPage: () => isOpenPath(location.pathname),
    isLoggedIn: () => session().getState().isLoggedIn === true,
    leave: note => {
      writeLeaveNote(note)
      void session().signOut({ ended: true })
    },
    signOutFirst: () => void session().signOut(),
    mayShow: createCauseFilter(() => performance.now()),
    toast: toast.bad,
  })
  startApi({
    origin: '',
    readToken,
    readLanguage: currentLanguage,
    keys: createIdempotencyKeys(tabStorage),
    textOf: (code, values) => String(i18next.t(`errors:${code}` as 'errors:network', values)),
    onFailure: react,
    confirmSignIn: askToConfirm,
    onReach: answered => (answered ? connection.hear() : connection.suspect()),
  })
  onUnseen(error => react(error, { silent: false, aboutSession: false }))
  window.addEventListener('offline', connection.lose)
  window.addEventListener('online', () => void connection.look())
  whenBack(resumeCache)
  const textsReady = startI18n(namespaces)
  wireSession()
  // Both are asked for at once; the page draws a spinner until the second has its answer (R2.8).
  void session().start()
  await textsReady
}

function wireSession(): void {
  startSession(
    createSession({
      readToken,
      writeToken,
      fetchUser: async () =>
        usableAccount(await request(getAccount, {}, { silent: true }), i18next.t('errors:password_expired')),
      endSession: () => sendChange(logout, {}, { silent: true }),
      writeCookies: writeSessionCookies,
      clearCookies: clearSessionCookies,
      forget: clearCache,
      onUserGone: () => writeLeaveNote('user_not_found'),
      onPasswordExpired: () => writeLeaveNote('password_expired'),
      reload: () => location.reload(),
      // The sign-in page leaves by itself, for where its address says; the other pages outside the shell are forms
      // and mails that one may be in the middle of.
      goHome: () => guestPage(location.pathname) ?? location.assign(HOME_PATH),
    }),
  )
  // Where a refresh fails, the account is looked at again with the next page.
  registerReader(getAccount.operation, () => session().refresh())
  followOtherTabs()
}

/**
 * Signing in and out in one tab reaches the others at once (R4.12). A hidden tab waits until somebody looks at it: what
 * was typed into its forms is not thrown away for a sign-out that is undone before that.
 */
function followOtherTabs(): void {
  const catchUp = () => {
    if (document.visibilityState === 'visible') void session().catchUp()
  }
  document.addEventListener('visibilitychange', catchUp)
  // Told to the other tabs only, never to the one that wrote. A storage that is cleared names no key.
  window.addEventListener('storage', ({ key }) => {
    if (key === TOKEN_KEY || key === null) catchUp()
  })
}
