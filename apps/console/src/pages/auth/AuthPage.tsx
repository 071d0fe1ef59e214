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
import classes from './AuthPage.module.css'
import { FreeNow } from './FreeNow.tsx'
import { LoginForm } from './LoginForm.tsx'
import { SignupForm } from './SignupForm.tsx'
import { signIn } from './sign-in.ts'

const search = z.object({
  mode: z.enum(['login', 'signup']).catch('login'),
  /** The secret of a one-time sign-in link. */
  ticket: z.string().catch(''),
})
const OUR_APPLICATION = { query: { id: `admin/${APPLICATION}` } }

/** Log in and sign up (R2.1). */
export function Page() {
  const { t } = useTranslation(['auth', 'common', 'errors'])
  const [{ mode, ticket }, setSearch] = useGuestSearch(search)
  const settings = useGuestSettings()
  const application = useCall(getApplication, OUR_APPLICATION).data
  const [note] = useState(takeLeaveNote)
  const [failure, setFailure] = useState<string | null>(note && t(`errors:${note}`))
  const brand = settings?.brand.name ?? t('common:brand')
  useDocumentTitle('/auth', brand)
  useTicket(ticket, message => {
    setFailure(message)
    setSearch({ ticket: '' })
  })

  const signingUp = mode === 'signup' && application?.enableSignUp !== false
  const texts = signingUp ? 'sign_up' : 'log_in'
  const change = (next: 'login' | 'signup') => {
    setFailure(null)
    setSearch({ mode: next })
  }
  return (
    <div className={classes.page}>
      <main className={classes.half}>
        <div className={classes.column}>
          <Brand name={brand} large />
          <h1 className={classes.title}>{ticket ? t('ticket.title') : t(`${texts}.title`)}</h1>
          {ticket ? (
            <p className={classes.other} role="status">
              {t('ticket.busy')}
            </p>
          ) : (
            <>
              {application?.enableSignUp !== false && (
                <p className={classes.other}>
                  {t(`${texts}.other`)}{' '}
                  <button
                    type="button"
                    className={classes.link}
                    onClick={() => change(signingUp ? 'login' : 'signup')}
                  >
                    {t(`${texts}.other_action`)}
                  </button>
                </p>
              )}
              {signingUp ? (
                <SignupForm
                  termsUrl={application?.termsOfUse ?? ''}
                  onMade={() => {
                    setSearch({ mode: 'login' })
                    setFailure(t('sign_up.made'))
                  }}
                />
              ) : (
                <LoginForm failure={failure} />
              )}
            </>
          )}
          <footer className={classes.foot}>
            <GuestFoot docsUrl={settings?.brand.docs_url} mailbox={settings?.mailbox ?? false} />
          </footer>
        </div>
      </main>
      <aside className={classes.side}>
        <FreeNow />
      </aside>
    </div>
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
