import { Button, Loader } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { GuestCard } from '../../app/guest/GuestCard.tsx'
import { takeProviderVisit } from '../../app/session/provider-visit.ts'
import { useSession } from '../../app/session/session.ts'
import classes from './CallbackPage.module.css'
import { finishVisit, type Outcome, readAnswer } from './finish-visit.ts'

/** Where services are linked. */
const LINKS_PATH = '/settings?section=sign-in'

/** A code works once, so it is spent once however often the page is drawn. */
let finishing: Promise<Outcome> | null = null

/** Where other services send the browser back to (R2.1): finishes signing in or linking, and goes on. */
export function Page() {
  const { t } = useTranslation(['auth', 'errors'])
  const outcome = useOutcome()
  const { isLoggedIn } = useSession()

  if (outcome === null || 'goTo' in outcome) {
    return (
      <GuestCard path="/callback" title={t('callback.busy')}>
        <p className={classes.text} role="status">
          <Loader size={18} type="oval" color="var(--faint)" aria-label={t('callback.busy')} />
        </p>
      </GuestCard>
    )
  }
  const { failure, message, visit } = outcome
  const text =
    failure === 'gateway' ? message : failure === 'lost' ? t('callback.lost') : t(`errors:${failure}`)
  // Who is signed in already can only have come to link.
  const links = visit ? visit.method === 'link' : isLoggedIn === true
  const wanted = visit?.returnTo ? `?redirect=${encodeURIComponent(visit.returnTo)}` : ''
  return (
    <GuestCard path="/callback" title={t(links ? 'callback.link_failed' : 'callback.sign_in_failed')}>
      <p className={classes.text} role="alert">
        {text}
      </p>
      <Button component="a" href={links ? LINKS_PATH : `/auth${wanted}`} className={classes.next}>
        {t(links ? 'callback.to_settings' : 'callback.to_log_in')}
      </Button>
    </GuestCard>
  )
}

function useOutcome(): Outcome | null {
  const [outcome, setOutcome] = useState<Outcome | null>(null)
  useEffect(() => {
    let gone = false
    finishing ??= finish()
    void finishing.then(result => {
      if (gone) return
      setOutcome(result)
      if ('goTo' in result) location.replace(result.goTo)
    })
    return () => {
      gone = true
    }
  }, [])
  return outcome
}

async function finish(): Promise<Outcome> {
  const answer = readAnswer(location.search)
  // The code does not stay in the address: not in the history, and not in a picture of the screen.
  history.replaceState(history.state, '', location.pathname)
  const visit = takeProviderVisit()
  // Whatever went wrong, nobody is left in front of a spinner.
  return await finishVisit(answer, visit).catch(() => ({ failure: 'oauth_failed', message: null, visit }))
}
