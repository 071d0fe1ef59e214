import type { Call } from '@berth/contract/call'
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { balanceQuery } from '../api/queries.ts'
import { searchOf } from '../app/search.ts'
import { useSession } from '../app/session/session.ts'
import { readCurrency } from '../app/session/session-storage.ts'
import { useOffFor } from '../app/session/use-off-for.ts'
import { VerifiedButton } from '../app/session/VerifiedButton.tsx'
import { FormFailure } from '../ui/FormFailure.tsx'
import { useFormat } from '../ui/format.ts'
import { paymentsOfPage } from '../ui/payments-of-page.ts'
import classes from './MakingFoot.module.css'

const MICRO_PER_CENT = 10_000n

interface MakingFootProps {
  /** What the button sends. */
  call: Call
  /** What it costs at the most, in micro-units, and what that is made of. */
  priceMicro: bigint
  priceOf: string
  /** Further lines: a name and what it is. */
  lines?: readonly { name: string; value: string }[]
  /** Calls of the model that cost nothing, each day; how many of today's are left is not known here. */
  freeCalls: number
  /** What is one call of them. */
  callIs: string
  busy: boolean
  failure: string | null
  /** Why nothing can be made now, beside what holds for every customer. */
  reason?: string | null
  /** A verb and what it makes. */
  children: ReactNode
  /** When it is charged. */
  note: string
}

/** What it will cost, whether the balance has it, and the button (B11). */
export function MakingFoot(props: MakingFootProps) {
  const {
    call,
    priceMicro,
    priceOf,
    lines = [],
    freeCalls,
    callIs,
    busy,
    failure,
    reason,
    children,
    note,
  } = props
  const { t } = useTranslation('making')
  const format = useFormat()
  const { user } = useSession()
  const off = useOffFor(call)
  const price = format.exactMoney(priceMicro, readCurrency())
  return (
    <>
      <dl className={classes.lines}>
        <div className={classes.price}>
          <dt>{priceOf}</dt>
          <dd>{freeCalls > 0 ? t('foot.most', { price }) : price}</dd>
        </div>
        {freeCalls > 0 && (
          <div className={classes.free}>
            <dt>{t('foot.free')}</dt>
            <dd>{t('foot.free_calls', { count: freeCalls, what: callIs })}</dd>
          </div>
        )}
        {user && <OfBalance priceMicro={priceMicro} isFree={freeCalls > 0} />}
        {lines.map(({ name, value }) => (
          <div key={name} className={classes.more}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <div className={classes.failure}>
        <FormFailure message={failure} />
      </div>
      {user ? (
        <VerifiedButton call={call} type="submit" size="lg" loading={busy} reason={reason}>
          {children}
        </VerifiedButton>
      ) : (
        <Button type="submit" size="lg">
          {t('foot.log_in')}
        </Button>
      )}
      <p className={classes.note}>
        {off ?? [note, freeCalls > 0 && t('foot.beyond')].filter(Boolean).join(' ')}
      </p>
    </>
  )
}

/** What pays for it; where that is too little, how much is missing and the way to more. */
function OfBalance({ priceMicro, isFree }: { priceMicro: bigint; isFree: boolean }) {
  const { t } = useTranslation('making')
  const format = useFormat()
  const { data } = useQuery(balanceQuery)
  if (!data) return null
  const { amount_available: available, amount_free: free } = data.account_balance
  const missingMicro = priceMicro - BigInt(available) * MICRO_PER_CENT
  if (missingMicro > 0n && !isFree) {
    return (
      <div className={classes.missing} role="status">
        <dt>{t('foot.missing', { amount: format.exactMoney(missingMicro, data.currency) })}</dt>
        {paymentsOfPage() !== 'none' && (
          <dd>
            <Link to="/payments" search={searchOf({ topup: 'open' })}>
              {t('foot.top_up')}
            </Link>
          </dd>
        )}
      </div>
    )
  }
  if (free <= 0) return null
  return (
    <div className={classes.more}>
      <dt>{t('foot.credit')}</dt>
      <dd>{t('foot.credit_left', { amount: format.cents(free, data.currency) })}</dd>
    </div>
  )
}
