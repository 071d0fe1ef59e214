import { IconAlertTriangle } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { balanceQuery, oldSince } from '../../api/queries.ts'
import { Card } from '../../ui/Card.tsx'
import { ErrorState } from '../../ui/ErrorState.tsx'
import { useFormat } from '../../ui/format.ts'
import { SkeletonRows } from '../../ui/SkeletonRows.tsx'
import { StaleNote } from '../../ui/StaleNote.tsx'
import classes from './BalanceCard.module.css'
import { balanceParts } from './balance-parts.ts'
import { WhatHappens } from './outlook/WhatHappens.tsx'

/** What can be spent, how long it lasts, what it is made of (R3.6), and what happens when nothing is added (B4). */
export function BalanceCard() {
  const { t } = useTranslation('payments')
  const format = useFormat()
  const query = useQuery(balanceQuery)
  const { data, error, refetch } = query
  if (!data) {
    return (
      <Card>
        {error ? (
          <ErrorState message={error.message} requestId={error.requestId} onRetry={() => void refetch()} />
        ) : (
          <SkeletonRows rows={2} />
        )}
      </Card>
    )
  }
  const { amount_available, amount_free, amount_owed } = data.account_balance
  const parts = balanceParts(data.account_balance).filter(({ key }) => key !== 'free' || amount_free > 0)
  const old = oldSince(query)
  const total = parts.reduce((sum, part) => sum + part.cents, 0)
  return (
    <Card>
      {old !== null && <StaleNote since={old} onRetry={() => void refetch()} />}
      <p className={classes.label}>{t('balance.available')}</p>
      <p className={classes.amount}>{format.cents(amount_available, data.currency)}</p>
      <p className={classes.second}>
        {data.lasts_seconds === null
          ? t('balance.nothing_runs')
          : t('balance.lasts', {
              span: format.runway(data.lasts_seconds),
              rate: format.rate(data.burn_micro_per_hour, data.currency, 'h', true),
              until: format.weekdayMoment(new Date(Date.now() + data.lasts_seconds * 1_000)),
            })}
      </p>
      {amount_owed > 0 && (
        <p className={classes.owed}>
          <IconAlertTriangle size={16} aria-hidden="true" />
          {t('balance.owed', { amount: format.cents(amount_owed, data.currency) })}
        </p>
      )}
      <div className={classes.bar} aria-hidden="true">
        {total > 0 &&
          parts
            .filter(part => part.cents > 0)
            .map(part => <span key={part.key} data-part={part.key} style={{ flexGrow: part.cents }} />)}
      </div>
      <ul className={classes.legend}>
        {parts.map(part => (
          <li key={part.key} data-part={part.key}>
            {t(`balance.${part.key}`, { amount: format.cents(part.cents, data.currency) })}
          </li>
        ))}
      </ul>
      <WhatHappens />
    </Card>
  )
}
