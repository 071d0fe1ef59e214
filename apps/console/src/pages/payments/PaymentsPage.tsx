import { getAutoTopup } from '@berth/contract/auto-topup'
import { getSpend, listTransactions, topup } from '@berth/contract/billing'
import { getNotifications } from '@berth/contract/notifications'
import { getOutlook } from '@berth/contract/outlook'
import { listPaymentMethods } from '@berth/contract/payment-methods'
import { Button } from '@mantine/core'
import { IconBell, IconPlus } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { queryOf } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { searchOf, usePageSearch } from '../../app/search.ts'
import { VerifiedButton } from '../../app/session/VerifiedButton.tsx'
import { useFocusBack } from '../../ui/focus-back.ts'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { paymentsOfPage } from '../../ui/payments-of-page.ts'
import { AutoTopupCard } from './auto-topup/AutoTopupCard.tsx'
import { BalanceCard } from './BalanceCard.tsx'
import { BudgetsCard } from './budgets/BudgetsCard.tsx'
import { CreditsCard } from './coupons/CreditsCard.tsx'
import { InvoicesCard } from './invoices/InvoicesCard.tsx'
import { MethodsCard } from './methods/MethodsCard.tsx'
import { UsesCard } from './outlook/UsesCard.tsx'
import classes from './PaymentsPage.module.css'
import { ResumeCard } from './resume/ResumeCard.tsx'
import { SPEND_DAYS, SpendCard } from './SpendCard.tsx'
import { TransactionList } from './transactions/TransactionList.tsx'

const TopupDialog = lazyPart(() => import('./TopupDialog.tsx').then(module => module.TopupDialog))

/** `open` is the form; a top-up’s id is the payment that a platform sent the browser back from. */
const search = z.object({
  topup: z
    .string()
    .regex(/^(open|t_[0-9a-f-]{36})?$/)
    .catch(''),
  /** The payment method of whose page the browser comes back. */
  card: z
    .string()
    .regex(/^(m_[0-9a-f-]{36})?$/)
    .catch(''),
})

/** Starts what the page shows first, before its code has arrived. */
export function prefetch(): void {
  void queryClient.prefetchQuery(queryOf(getOutlook, {}))
  void queryClient.prefetchQuery(queryOf(getNotifications, {}))
  void queryClient.prefetchQuery(queryOf(getAutoTopup, {}))
  void queryClient.prefetchQuery(queryOf(listPaymentMethods, {}))
  void queryClient.prefetchQuery(queryOf(getSpend, { query: { days: SPEND_DAYS } }))
  void queryClient.prefetchQuery(queryOf(listTransactions, { query: {} }))
}

/** What is there, where it went, and how to add to it (R2.27). */
export function Page() {
  const { t } = useTranslation(['payments', 'common', 'errors'])
  const [filters, setFilters] = usePageSearch(search)
  const mayPay = paymentsOfPage() !== 'none'
  // The dialog stays mounted once it was opened, so that closing it animates and nothing typed is lost by a slip.
  const [wasOpened, setWasOpened] = useState(false)
  const opened = filters.topup !== ''
  useFocusBack(opened)
  const [asked, setAsked] = useState(filters.topup)
  // Kept while the dialog closes.
  if (opened && asked !== filters.topup) setAsked(filters.topup)
  if (opened && !wasOpened) setWasOpened(true)
  return (
    <>
      <PageHeader
        title={t('common:titles.payments')}
        second={mayPay ? undefined : t('errors:payments_not_set_up')}
        actions={
          <>
            <Button
              component={Link}
              to="/settings"
              search={searchOf({ section: 'notifications' })}
              variant="default"
              leftSection={<IconBell size={16} />}
            >
              {t('alerts')}
            </Button>
            {mayPay && (
              <VerifiedButton
                call={topup}
                leftSection={<IconPlus size={16} />}
                onClick={() => setFilters({ topup: 'open' })}
              >
                {t('topup.open')}
              </VerifiedButton>
            )}
          </>
        }
      />
      <div className={classes.head}>
        <BalanceCard />
        <UsesCard />
        {mayPay && <AutoTopupCard />}
      </div>
      <div className={classes.layout}>
        <div className={classes.side}>
          <ResumeCard />
          <MethodsCard returned={filters.card} onSaid={() => setFilters({ card: '' })} />
          <CreditsCard />
          <SpendCard />
          <BudgetsCard />
        </div>
        <TransactionList />
      </div>
      <InvoicesCard />
      {wasOpened && (
        <Suspense>
          <TopupDialog
            opened={opened}
            payment={asked === 'open' ? null : asked}
            onClose={() => setFilters({ topup: '' })}
          />
        </Suspense>
      )}
    </>
  )
}
