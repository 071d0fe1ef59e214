import { spendableCents } from '@berth/contract/billing'
import type { BillingPreview } from '@berth/contract/instance-terms'
import { microFromCents } from '@berth/contract/money'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { balanceQuery } from '../api/queries.ts'
import { searchOf } from '../app/search.ts'
import { paymentsOfPage } from '../ui/payments-of-page.ts'

/**
 * That the balance does not cover a change of how an instance is paid for, with the way to top up; null where it does,
 * and as long as nobody knows.
 */
export function useShort(preview: BillingPreview | undefined): ReactNode {
  const { t } = useTranslation(['terms-of-payment', 'common'])
  const { data: balance } = useQuery(balanceQuery)
  if (!preview || preview.refused !== null || !balance) return null
  const { cost_micro, back_micro, reserve_micro } = preview
  const needed = BigInt(cost_micro) - BigInt(back_micro) + BigInt(reserve_micro)
  if (microFromCents(spendableCents(balance)) >= needed) return null
  return (
    <>
      {t('billing.short')}
      {paymentsOfPage() !== 'none' && (
        <>
          {' '}
          <Link to="/payments" search={searchOf({ topup: 'open' })}>
            {t('common:balance.top_up')}
          </Link>
        </>
      )}
    </>
  )
}
