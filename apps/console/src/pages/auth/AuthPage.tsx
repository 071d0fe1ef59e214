import { APPLICATION, getApplication } from '@berth/contract/account'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { ApiError } from '../../api/api-error.ts'
import { useCall } from '../../api/use-call.ts'
import { GuestFoot } from '../../app/guest/GuestFoot.tsx'
import { useGuestSearch } from '../../app/guest/guest-search.ts'
import { useGuestSettings } from '../../app/guest/settings.ts'
import { takeLeaveNote } from '../../app/session/leave-note.ts'
import { useDocumentTitle } from '../../app/use-document-title.ts'
import { Brand } from '../../ui/Brand.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'
import classes from './AuthPage.module.css'
import { FreeNow } from './FreeNow.tsx'
import { LoginForm } from './LoginForm.tsx'
import { ProviderButtons } from './ProviderButtons.tsx'
import { ResetRequestForm } from './ResetRequestForm.tsx'
import { SignupForm } from './SignupForm.tsx'
import { signIn } from './sign-in.ts'

const MODES = ['login', 'signup', 'reset'] as const
type Mode = (typeof MODES)[number]
/** Where the texts of a form stand. */
const TEXTS = { login: 'log_in', signup: 'sign_up', reset: 'reset' } as const
const search = z.object({
  mode: z.enum(MODES).catch('login'),
  /** The secret of a one-time sign-in link. */
  ticket: z.string().catch(''),
  redirect: z.string().catch(''),
})
/** The page of terms, which leads on where a brand keeps its own elsewhere. */
const TERMS_PATH = '/terms'
const OUR_APPLICATION = { query: { id: `admin/${APPLICATION}` } }

/** Log in, sign up, and asking for a new password (R2.1). */
export function Page() {
  const { t } = useTranslation(['auth', 'common', 'errors'])
  const [{ mode: asked, ticket }, setSearch] = useGuestSearch(search)
  const settings = useGuestSettings()
  const application = useCall(getApplication, OUR_APPLICATION).data
  const [note] = useState(takeLeaveNote)
  const deleted = note === 'account_deleted'
  const [failure, setFailure] = useState<string | null>(note && !deleted ? t(`errors:${note}`) : null)
  const [email, setEmail] = useState('')
  const brand = settings?.brand.name ?? t('common:brand')
  // Where another service keeps the accounts, it may say what they agree to.
  const termsUrl = application?.termsOfUse || settings?.brand.terms_url || TERMS_PATH
  useTicket(ticket, message => {
    setFailure(message)
    setSearch({ ticket: '' })
  })
  const change = (next: Mode, why: string | null = null) => {
    setFailure(why)
    setSearch({ mode: next })
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: the note is taken once.
  useEffect(() => {
    // Whose password has expired logs in with a new one only (R4.10).
    if (note === 'password_expired') setSearch({ mode: 'reset' })
    // Nobody comes back to the page that an account was deleted on; whoever signs up next starts at the beginning.
    if (deleted) setSearch({ redirect: '' })
  }, [])

  const mayJoin = application?.enableSignUp !== false
  const mode = asked === 'signup' && !mayJoin ? 'login' : asked
  const title = ticket ? t('ticket.title') : t(`${TEXTS[mode]}.title`)
  useDocumentTitle(title, brand)
  return (
    <div className={classes.page}>
      <main className={classes.half}>
        <div className={classes.column}>
          <Brand name={brand} large />
          <h1 className={classes.title}>{title}</h1>
          {ticket ? (
            <p className={classes.other} role="status">
              {t('ticket.busy')}
            </p>
          ) : (
            <>
              {deleted && (
                <p className={classes.note} role="status">
                  {t('deleted')}
                </p>
              )}
              {(mayJoin || mode === 'reset') && <OtherWay mode={mode} onChange={change} />}
              {mode === 'signup' && (
                <SignupForm
                  termsUrl={termsUrl}
                  onMade={made => {
                    setEmail(made)
                    change('login', t('sign_up.made', { email: made }))
                  }}
                />
              )}
              {mode === 'login' && (
                <LoginForm
                  email={email}
                  failure={failure}
                  onReset={(known, why) => {
                    setEmail(known)
                    change('reset', why)
                  }}
                />
              )}
              {mode !== 'reset' && application && (
                <ProviderButtons
                  termsUrl={termsUrl}
                  providers={application.providers}
                  method={mode === 'signup' ? 'signup' : 'signin'}
                />
              )}
              {mode === 'reset' && <ResetRequestForm email={email} failure={failure} />}
            </>
          )}
          <footer className={classes.foot}>
            <GuestFoot brand={settings?.brand} mailbox={settings?.mailbox ?? false} />
          </footer>
        </div>
      </main>
      <aside className={classes.side}>
        <FreeNow />
      </aside>
    </div>
  )
}

/** The sentence under the title that leads to another form. */
function OtherWay({ mode, onChange }: { mode: Mode; onChange: (mode: Mode) => void }) {
  const { t } = useTranslation('auth')
  return (
    <p className={classes.other}>
      {t(`${TEXTS[mode]}.other`)}{' '}
      <LinkButton onClick={() => onChange(mode === 'login' ? 'signup' : 'login')}>
        {t(`${TEXTS[mode]}.other_action`)}
      </LinkButton>
    </p>
  )
}

/** A link works once, so it is spent once however often the page is drawn. */
const spent = new Map<string, Promise<void>>()

function useTicket(ticket: string, onFailure: (message: string) => void): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another ticket is another try.
  useEffect(() => {
    if (!ticket) return
    let gone = false
    const attempt = spent.get(ticket) ?? signIn({ signinMethod: 'Link', password: ticket })
    spent.set(ticket, attempt)
    attempt.catch(error => {
      if (!gone && error instanceof ApiError) onFailure(error.message)
    })
    return () => {
      gone = true
    }
  }, [ticket])
}
