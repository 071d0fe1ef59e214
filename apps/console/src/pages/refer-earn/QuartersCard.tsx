import { PAGE_SIZE_DEFAULT } from '@berth/contract/limits'
import {
  chooseSettlement,
  listReferralQuarters,
  type ReferralQuarter,
  type ReferralSummary,
} from '@berth/contract/referral'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { VerifiedButton } from '../../app/session/VerifiedButton.tsx'
import { Answer } from '../../ui/Answer.tsx'
import { Card } from '../../ui/Card.tsx'
import { useFormat } from '../../ui/format.ts'
import { Pager } from '../../ui/Pager.tsx'
import { quarterParts } from './ChoiceFields.tsx'
import classes from './QuartersCard.module.css'
import { useCents } from './use-cents.ts'

interface QuartersCardProps {
  summary: ReferralSummary
  /** A quarter is to be settled otherwise than was chosen, which can be said until it is paid. */
  onChoose: (quarter: ReferralQuarter) => void
}

/** What each quarter came to, and what became of it (R2.28, R3.13). */
export function QuartersCard({ summary: { currency, terms }, onChoose }: QuartersCardProps) {
  const { t } = useTranslation('refer')
  const cents = useCents(currency)
  const [page, setPage] = useState(1)
  const query = useQuery(queryOf(listReferralQuarters, { query: { page } }))
  return (
    <Card title={t('quarters')} aside={t('paid_from', { amount: cents(terms.threshold) })}>
      <Answer query={query} data={query.data} rows={3}>
        {({ items, total }) => (
          <>
            <ul className={classes.quarters}>
              {items.map(quarter => (
                <QuarterRow key={quarter.quarter} quarter={quarter} onChoose={onChoose} />
              ))}
            </ul>
            {total > PAGE_SIZE_DEFAULT && (
              <Pager page={page} pageSize={PAGE_SIZE_DEFAULT} total={total} onChange={setPage} />
            )}
          </>
        )}
      </Answer>
    </Card>
  )
}

function QuarterRow({
  quarter,
  onChoose,
}: { quarter: ReferralQuarter } & Pick<QuartersCardProps, 'onChoose'>) {
  const { t } = useTranslation('refer')
  const name = t('quarter_name', quarterParts(quarter.quarter))
  const format = useFormat()
  const money = (micro: string | bigint) => format.money(micro, quarter.currency)
  return (
    <li>
      <span className={classes.name}>{name}</span>
      <span className={`${classes.sum} tabular`}>{money(quarter.total_earnings_micro)}</span>
      <span className={classes.how}>{useHow(quarter)}</span>
      <span className={`${classes.end} tabular`}>{useEnd(quarter)}</span>
      {quarter.state === 'to_be_paid' && (
        <VerifiedButton
          call={chooseSettlement}
          variant="default"
          size="compact-sm"
          className={classes.change}
          aria-label={`${t('change')}: ${t('choose_of', { quarter: name })}`}
          onClick={() => onChoose(quarter)}
        >
          {t('change')}
        </VerifiedButton>
      )}
    </li>
  )
}

/** How it was, or will be, settled: `cash, fee −$10.42`. */
function useHow(quarter: ReferralQuarter): string {
  const { t } = useTranslation('refer')
  const format = useFormat()
  const { state, reward_type, fee_micro, currency } = quarter
  if (state === 'open' || state === 'choosing' || state === 'carried_over')
    return t(`quarter_states.${state}`)
  if (reward_type === 'cash') return t('cash_fee', { fee: format.money(-BigInt(fee_micro), currency) })
  return t('as_bonus')
}

/** What arrived and when, or what is still to come. */
function useEnd(quarter: ReferralQuarter): string {
  const { t } = useTranslation('refer')
  const format = useFormat()
  const money = (micro: string) => format.money(micro, quarter.currency)
  switch (quarter.state) {
    case 'open':
      return quarter.carried_in_micro === '0'
        ? ''
        : t('with_carried', { amount: money(quarter.amount_micro) })
    case 'carried_over':
      return quarter.carried_to
        ? t('carried_to', { quarter: t('quarter_name', quarterParts(quarter.carried_to)) })
        : t('carried')
    case 'paid':
    case 'credited':
      return t('arrived_on', {
        amount: money(quarter.settled_payout_micro),
        date: quarter.paid_at ? format.date(quarter.paid_at) : '',
      })
    case 'failed':
      return t(`failures.${quarter.failure ?? 'other'}`)
    case 'choosing':
      return t('pending', { amount: money(quarter.pending_payout_micro) })
    case 'to_be_paid':
    case 'paying':
      return quarter.payout_at
        ? t('pending_from', {
            amount: money(quarter.pending_payout_micro),
            date: format.date(quarter.payout_at),
          })
        : t('pending', { amount: money(quarter.pending_payout_micro) })
  }
}
