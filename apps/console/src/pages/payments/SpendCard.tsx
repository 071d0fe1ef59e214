import { getSpend, type Spend } from '@berth/contract/billing'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { Card } from '../../ui/Card.tsx'
import { ErrorState } from '../../ui/ErrorState.tsx'
import { useFormat } from '../../ui/format.ts'
import { SkeletonRows } from '../../ui/SkeletonRows.tsx'
import { StaleNote } from '../../ui/StaleNote.tsx'
import { REFRESH_MS } from './refresh.ts'
import classes from './SpendCard.module.css'

/** Days in the chart. */
export const SPEND_DAYS = 14

/** What was spent by day; today's bar stands out, because it still grows. */
export function SpendCard() {
  const { t } = useTranslation('payments')
  const { data, error, refetch, dataUpdatedAt } = useQuery({
    ...queryOf(getSpend, { query: { days: SPEND_DAYS } }),
    refetchInterval: REFRESH_MS,
  })
  if (!data) {
    return (
      <Card title={t('spend.title', { days: SPEND_DAYS })}>
        {error ? (
          <ErrorState message={error.message} requestId={error.requestId} onRetry={() => void refetch()} />
        ) : (
          <SkeletonRows rows={3} />
        )}
      </Card>
    )
  }
  const note = error && <StaleNote since={dataUpdatedAt} onRetry={() => void refetch()} />
  return <SpendChart spend={data} note={note} />
}

/** The days as bars, with their sum beside the title; what is read adds up. */
export function SpendChart({ spend, note }: { spend: Spend; note?: ReactNode }) {
  const { t } = useTranslation('payments')
  const format = useFormat()
  const amounts = spend.days.map(day => BigInt(day.amount_micro))
  const texts = format.moneyParts(amounts, spend.currency)
  const most = amounts.reduce((largest, amount) => (amount > largest ? amount : largest), 1n)
  const first = spend.days[0]
  return (
    <Card title={t('spend.title', { days: SPEND_DAYS })} aside={texts.total}>
      {note}
      {amounts.every(amount => amount === 0n) ? (
        <p className={classes.none}>{t('spend.none')}</p>
      ) : (
        <ol className={classes.chart} aria-label={t('spend.title', { days: SPEND_DAYS })}>
          {spend.days.map((day, index) => (
            <li
              key={day.date}
              className={classes.bar}
              data-today={index === spend.days.length - 1 || undefined}
              title={`${format.date(day.date)}: ${texts.parts[index]}`}
              style={{ height: `${Number(((amounts[index] ?? 0n) * 1_000n) / most) / 10}%` }}
            >
              <span className="said">
                {format.date(day.date)}: {texts.parts[index]}
              </span>
            </li>
          ))}
        </ol>
      )}
      <div className={classes.axis} aria-hidden="true">
        <span>{first ? format.date(first.date) : ''}</span>
        <span>{t('spend.today', { amount: texts.parts.at(-1) })}</span>
      </div>
    </Card>
  )
}
