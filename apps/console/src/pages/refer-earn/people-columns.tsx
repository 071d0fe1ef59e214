import type { ReferralOrder, ReferralRecord, ReferralState, ReferralTerms } from '@berth/contract/referral'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../../ui/format.ts'
import { Money } from '../../ui/Money.tsx'
import { type Column, TwoLines } from '../../ui/RowTable.tsx'
import { StatusBadge, type StatusLook } from '../../ui/StatusBadge.tsx'
import { quarterParts } from './ChoiceFields.tsx'
import { useCents } from './use-cents.ts'

/** Total over the states (R4.9): a new one does not compile until it has a look. */
const STATE_LOOKS: Record<ReferralState, StatusLook> = {
  not_activated: { shape: 'ring', tone: 'quiet' },
  not_recharged: { shape: 'ring', tone: 'quiet' },
  recharged: { shape: 'dot', tone: 'good' },
  invalid: { shape: 'dot', tone: 'warning' },
}

/** Columns of invited users, with figures of one quarter. */
export function useRecordColumns(quarter: string, terms: ReferralTerms): Column<ReferralRecord>[] {
  const { t } = useTranslation('refer')
  const format = useFormat()
  return useMemo(
    () => [
      {
        key: 'user',
        narrow: 'name',
        header: t('user'),
        cell: row => <TwoLines first={row.user_email ?? t('account_gone')} second={undefined} />,
      },
      {
        key: 'registered',
        narrow: 'under',
        header: t('registered'),
        width: '12.4rem',
        cell: row => <span className="tabular">{format.date(row.registration_time)}</span>,
      },
      {
        key: 'first',
        narrow: null,
        header: t('first_topup'),
        width: '14.6rem',
        cell: row => <FirstTopup row={row} topup={terms.first_topup} />,
      },
      {
        key: 'spent',
        narrow: null,
        header: t('spent_in', { quarter: t('quarter_short', quarterParts(quarter)) }),
        align: 'end',
        width: '11rem',
        cell: row => <Money micro={row.cash_payment_amount_micro} currency={row.currency} />,
      },
      {
        key: 'rebate',
        narrow: 'end',
        header: t('your_rebate', { rate: terms.rebate_rate }),
        align: 'end',
        width: '10rem',
        cell: row => (
          <span
            title={t('rebate_total', {
              amount: format.exactMoney(row.total_rebate_amount_micro, row.currency),
              rate: row.rebate_rate,
            })}
          >
            <strong>
              <Money micro={row.rebate_amount_micro} currency={row.currency} />
            </strong>
          </span>
        ),
      },
      {
        key: 'state',
        narrow: 'last',
        header: t('state'),
        width: '15rem',
        cell: row => <State row={row} />,
      },
    ],
    [t, format, quarter, terms],
  )
}

/** When, and how much: of a friend who has not paid in what counts, how far they are. */
function FirstTopup({ row, topup }: { row: ReferralRecord; topup: number }) {
  const { t } = useTranslation('refer')
  const format = useFormat()
  const cents = useCents(row.currency)
  if (row.order_payment_time === null || row.order_amount_micro === null) return <>{t('none_yet')}</>
  const paid = format.money(row.paid_micro, row.currency)
  return (
    <span className="tabular">
      {row.state === 'not_recharged'
        ? t('part_of', { paid, amount: cents(topup) })
        : t('first_topup_of', {
            date: format.date(row.order_payment_time),
            amount: format.money(row.order_amount_micro, row.currency),
          })}
    </span>
  )
}

function State({ row }: { row: ReferralRecord }) {
  const { t } = useTranslation('refer')
  return (
    <StatusBadge
      look={STATE_LOOKS[row.state]}
      label={t(`states.${row.state}`)}
      reason={row.state_reason && t(`reasons.${row.state_reason}`)}
    />
  )
}

/** Columns of order rewards. */
export function useOrderColumns(): Column<ReferralOrder>[] {
  const { t } = useTranslation('refer')
  const format = useFormat()
  return useMemo(
    () => [
      {
        key: 'what',
        narrow: 'name',
        header: t('what'),
        cell: row => (
          <TwoLines
            first={t(`kinds.${row.kind}`)}
            second={t('of_user', { user: row.user_email ?? t('account_gone') })}
          />
        ),
      },
      {
        key: 'paid',
        narrow: 'under',
        header: t('paid_at'),
        width: '12rem',
        cell: row => (
          <span className="tabular">
            {row.kind === 'rebate'
              ? format.date(row.order_payment_time.slice(0, 10))
              : format.date(row.order_payment_time)}
          </span>
        ),
      },
      {
        key: 'quarter',
        narrow: null,
        wideOnly: true,
        header: t('quarter'),
        width: '9rem',
        cell: row => t('quarter_name', quarterParts(row.quarter)),
      },
      {
        key: 'amount',
        narrow: null,
        header: t('order_amount'),
        align: 'end',
        width: '11rem',
        cell: row => <Money micro={row.order_amount_micro} currency={row.currency} />,
      },
      {
        key: 'cash',
        narrow: null,
        header: t('in_cash'),
        align: 'end',
        width: '11rem',
        cell: row => <Money micro={row.cash_payment_amount_micro} currency={row.currency} />,
      },
      {
        key: 'rate',
        narrow: null,
        wideOnly: true,
        header: t('rate'),
        align: 'end',
        width: '7rem',
        cell: row => (row.rebate_rate === null ? t('fixed') : t('percent', { value: row.rebate_rate })),
      },
      {
        key: 'reward',
        narrow: 'end',
        header: t('reward'),
        align: 'end',
        // Six places behind the point, and its sign.
        width: '14rem',
        cell: row => <Money micro={row.rebate_amount_micro} currency={row.currency} signed exact />,
      },
    ],
    [t, format],
  )
}
