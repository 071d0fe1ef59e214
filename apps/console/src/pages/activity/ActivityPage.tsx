import { APPLICATION, verifyEmail } from '@berth/contract/account'
import { Button, Loader } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { ApiError } from '../../api/api-error.ts'
import { sendChange } from '../../api/change.ts'
import { GuestCard } from '../../app/guest/GuestCard.tsx'
import { useGuestSearch } from '../../app/guest/guest-search.ts'
import { HOME_PATH } from '../../app/session/redirect-target.ts'
import { useSession } from '../../app/session/session.ts'
import classes from './ActivityPage.module.css'

const search = z.object({ token: z.string().catch('') })

type Outcome = { email: string } | { failure: string }

/** A token works once, so it is spent once however often the page is drawn. */
const spent = new Map<string, Promise<Outcome>>()

/** Where the activation mail leads (R2.2). */
export function Page() {
  const { t } = useTranslation('auth')
  const [{ token }] = useGuestSearch(search)
  const { isLoggedIn, user } = useSession()
  const outcome = useActivation(token)
  const failure = token ? (outcome && 'failure' in outcome ? outcome.failure : null) : t('activity.missing')

  // A link that was used works no more, and for one whose address is verified nothing is missing.
  if (failure !== null && user?.emailVerified) {
    return (
      <GuestCard path="/activty" title={t('activity.done_title')}>
        <p className={classes.text} role="status">
          {t('activity.done_text', { email: user.email })}
        </p>
        <Next loggedIn />
      </GuestCard>
    )
  }
  if (failure !== null) {
    return (
      <GuestCard path="/activty" title={t('activity.failed_title')}>
        <p className={classes.text} role="alert">
          {failure}
        </p>
        <p className={classes.text}>{isLoggedIn ? '' : t('activity.resend')}</p>
        <Next loggedIn={isLoggedIn === true} />
      </GuestCard>
    )
  }
  if (outcome && 'email' in outcome) {
    return (
      <GuestCard path="/activty" title={t('activity.done_title')}>
        <p className={classes.text} role="status">
          {t('activity.done_text', { email: outcome.email })}
        </p>
        <Next loggedIn={isLoggedIn === true} />
      </GuestCard>
    )
  }
  return (
    <GuestCard path="/activty" title={t('activity.busy')}>
      <p className={classes.text} role="status">
        <Loader size={18} type="oval" color="var(--faint)" aria-label={t('activity.busy')} />
      </p>
    </GuestCard>
  )
}

function Next({ loggedIn }: { loggedIn: boolean }) {
  const { t } = useTranslation('auth')
  return (
    <Button component="a" href={loggedIn ? HOME_PATH : '/auth'} className={classes.next}>
      {t(loggedIn ? 'activity.continue' : 'activity.log_in')}
    </Button>
  )
}

function useActivation(token: string): Outcome | null {
  const [outcome, setOutcome] = useState<Outcome | null>(null)
  useEffect(() => {
    if (!token) return
    let gone = false
    const attempt = spent.get(token) ?? activate(token)
    spent.set(token, attempt)
    void attempt.then(result => {
      if (!gone) setOutcome(result)
    })
    return () => {
      gone = true
    }
  }, [token])
  return outcome
}

async function activate(token: string): Promise<Outcome> {
  try {
    const query = { application: APPLICATION, token }
    // The account is looked at again, so the shell stops saying that the address is not verified.
    const { email } = await sendChange(verifyEmail, { query }, { silent: true })
    return { email }
  } catch (error) {
    if (error instanceof ApiError) return { failure: error.message }
    throw error
  }
}
