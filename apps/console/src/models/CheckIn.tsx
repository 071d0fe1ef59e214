import { type CheckInState, checkIn, getCheckIn } from '@berth/contract/check-in'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../api/queries.ts'
import { useChange } from '../api/use-change.ts'
import { useSession } from '../app/session/session.ts'
import { useOffFor } from '../app/session/use-off-for.ts'
import { VerifiedButton } from '../app/session/VerifiedButton.tsx'
import { Answer } from '../ui/Answer.tsx'
import { Card } from '../ui/Card.tsx'
import { useFormat } from '../ui/format.ts'
import { toast } from '../ui/toast.ts'
import classes from './CheckIn.module.css'

/** What the device says of where it is: that is where a day begins and ends. */
const timeZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone

/** The free credit of the day, for customers; nothing where there is none (R1.5). */
export function CheckIn() {
  const { isLoggedIn } = useSession()
  return isLoggedIn ? <CheckInCard /> : null
}

function CheckInCard() {
  const { t } = useTranslation('check-in')
  const state = useQuery({
    ...queryOf(getCheckIn, { query: { time_zone: timeZone() } }),
    // The day may have ended since.
    staleTime: 0,
  })
  if (state.data?.offered === false) return null
  return (
    <Card title={t('title')}>
      <Answer query={state} data={state.data} rows={1}>
        {known => <Today state={known} />}
      </Answer>
    </Card>
  )
}

function Today({ state }: { state: CheckInState }) {
  const { t } = useTranslation('check-in')
  const format = useFormat()
  const take = useChange(checkIn)
  const off = useOffFor(checkIn)
  const { done, streak, next_at } = state
  const amount = format.money(state.amount_micro, state.currency)
  return (
    <div className={classes.parts}>
      <p className={classes.text}>
        {done ? t('taken', { amount }) : t('open', { amount, count: state.credit_days })}
      </p>
      {streak > 1 && <p className={classes.text}>{t('streak', { count: streak })}</p>}
      {next_at !== null ? (
        <p className={classes.next}>
          {t('next')} <time dateTime={next_at}>{format.moment(next_at)}</time>
        </p>
      ) : (
        <VerifiedButton
          call={checkIn}
          size="xs"
          variant="default"
          className={classes.take}
          loading={take.busy}
          onClick={() => {
            void take
              .send({ body: { time_zone: timeZone() } })
              .then(() => toast.good(t('done', { amount })))
              .catch(() => undefined)
          }}
        >
          {t('take')}
        </VerifiedButton>
      )}
      {next_at === null && off !== null && <p className={classes.text}>{off}</p>}
    </div>
  )
}
