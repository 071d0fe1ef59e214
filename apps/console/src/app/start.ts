import { getAccount, logout } from '@berth/contract/account'
import { REFERRAL_CODE_CHARS_MAX } from '@berth/contract/limits'
import i18next from 'i18next'
import { clearCache, onStaleData } from '../api/cache-lifecycle.ts'
import { createCauseFilter } from '../api/cause-filter.ts'
import { request, startApi } from '../api/client.ts'
import { createIdempotencyKeys } from '../api/idempotency-keys.ts'
import { startToasts, toast } from '../ui/toast.ts'
import { createFailureReactions } from './failure-reactions.ts'
import { currentLanguage, startI18n } from './i18n.ts'
import { isOpenPath } from './pages.ts'
import { writeLeaveNote } from './session/leave-note.ts'
import { HOME_PATH } from './session/redirect-target.ts'
import { session, startSession } from './session/session.ts'
import {
  clearSessionCookies,
  readToken,
  writeReferralCode,
  writeSessionCookies,
  writeToken,
} from './session/session-storage.ts'
import { createSession } from './session/session-store.ts'
import { drawToastLazily } from './toast-loader.ts'

/** Wires the parts of the console to each other, starts looking who is signed in, and waits for the first texts. */
export async function start(): Promise<void> {
  keepReferralCode(new URLSearchParams(location.search))
  startToasts(drawToastLazily)
  const react = createFailureReactions({
    isOpenPage: () => isOpenPath(location.pathname),
    isLoggedIn: () => session().getState().isLoggedIn === true,
    leave: note => {
      writeLeaveNote(note)
      void session().signOut({ ended: true })
    },
    mayShow: createCauseFilter(() => performance.now()),
    toast: toast.bad,
  })
  startApi({
    origin: '',
    readToken,
    readLanguage: currentLanguage,
    keys: createIdempotencyKeys(sessionStorage),
    textOf: (code, values) => String(i18next.t(`errors:${code}` as 'errors:network', values)),
    onFailure: react,
  })
  onStaleData(error => react(error, {}))
  const textsReady = startI18n()
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
      fetchUser: () => request(getAccount, {}, { silent: true }),
      endSession: () => request(logout, {}, { silent: true }),
      writeCookies: writeSessionCookies,
      clearCookies: clearSessionCookies,
      forget: clearCache,
      onUserGone: () => writeLeaveNote('user_not_found'),
      reload: () => location.reload(),
      goHome: () => location.assign(HOME_PATH),
    }),
  )
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') void session().onTabVisible()
  })
}

/** R2.11: a referral code that a visit brings along is cut and kept until sign-up. */
function keepReferralCode(search: URLSearchParams): void {
  const code = search.get('ref') ?? search.get('referral_code')
  if (code) writeReferralCode(code.slice(0, REFERRAL_CODE_CHARS_MAX))
}
