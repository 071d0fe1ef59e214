import { downloadBill, getBillMonths } from '@berth/contract/bills'
import { ActionIcon, Button, NativeSelect } from '@mantine/core'
import { IconChevronLeft, IconDownload } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { request } from '../../api/client.ts'
import { queryOf } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { useOpened } from '../../app/search.ts'
import { useFilters } from '../../lists/use-filters.ts'
import { useCsv } from '../../receipts/use-csv.ts'
import { useFocusBack } from '../../ui/focus-back.ts'
import { useFormat } from '../../ui/format.ts'
import { PageHeader } from '../../ui/PageHeader.tsx'
import classes from './BillDetailsPage.module.css'
import { BillLines } from './BillLines.tsx'
import { BillSums } from './BillSums.tsx'
import { billSearch } from './bill-search.ts'
import { monthBefore, monthOf, monthsToChoose } from './months.ts'

const ReceiptDialog = lazyPart(() =>
  import('../../receipts/ReceiptDialog.tsx').then(module => module.ReceiptDialog),
)

/** Starts what the page shows first, before its code has arrived. */
export function prefetch(): void {
  void queryClient.prefetchQuery(queryOf(getBillMonths, {}))
}

/** What was used in a month, by thing, day or kind, down to receipts (R2.4, R7.5, B2). */
export function Page() {
  const { t } = useTranslation(['bills', 'common'])
  const format = useFormat()
  const filters = useFilters(billSearch)
  const [receipt, openReceipt] = useOpened('receipt')
  useFocusBack(receipt !== '')
  const now = new Date()
  const month = filters.values.month || monthOf(now)
  const months = useQuery(queryOf(getBillMonths, {}))
  const choices = monthsToChoose(
    (months.data?.months ?? []).map(one => one.month),
    month,
    now,
  )
  const before = monthBefore(month)
  const choose = (chosen: string) =>
    filters.change({ month: chosen === monthOf(now) ? '' : chosen, line: '' })
  const query = { month, ...(filters.values.q ? { search: filters.values.q } : {}) }
  return (
    <>
      <PageHeader
        title={t('common:titles.bill-details')}
        actions={
          <div className={classes.actions}>
            <ActionIcon
              variant="default"
              size={34}
              aria-label={t('month_before')}
              title={t('month_before')}
              disabled={before === null}
              onClick={() => before !== null && choose(before)}
            >
              <IconChevronLeft size={16} />
            </ActionIcon>
            <NativeSelect
              aria-label={t('month')}
              value={month}
              onChange={event => choose(event.currentTarget.value)}
              data={choices.map(value => ({
                value,
                label:
                  value === monthOf(now) ? t('so_far', { month: format.month(value) }) : format.month(value),
              }))}
            />
            <DownloadButton query={query} />
          </div>
        }
      />
      <BillSums month={month} isOver={month < monthOf(now)} />
      <BillLines month={month} filters={filters} onReceipt={openReceipt} />
      {receipt && (
        <Suspense>
          <ReceiptDialog id={receipt} onClose={() => openReceipt('')} />
        </Suspense>
      )}
    </>
  )
}

/** Saves what is shown as a file: the same month and search. */
function DownloadButton({ query }: { query: { month: string; search?: string } }) {
  const { t } = useTranslation('bills')
  const { busy, save } = useCsv()
  return (
    <Button
      variant="default"
      h="3.4rem"
      loading={busy}
      leftSection={<IconDownload size={16} />}
      onClick={() => save(`usage-${query.month}.csv`, () => request(downloadBill, { query }))}
    >
      {t('download')}
    </Button>
  )
}
