import { listTransactions, type Transaction } from '@berth/contract/billing'
import { downloadTransactions, TRANSACTION_TYPES } from '@berth/contract/transaction-filters'
import { ActionIcon } from '@mantine/core'
import { IconAdjustmentsHorizontal, IconDownload, IconReceipt } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Suspense, useId, useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { request } from '../../../api/client.ts'
import { queryOf } from '../../../api/queries.ts'
import { lazyPart } from '../../../app/lazy-part.ts'
import { useOpened } from '../../../app/search.ts'
import { List } from '../../../lists/List.tsx'
import { ListBar } from '../../../lists/ListBar.tsx'
import { useFilters } from '../../../lists/use-filters.ts'
import { TransactionAmount } from '../../../receipts/TransactionAmount.tsx'
import { useTransactionText } from '../../../receipts/transaction-text.ts'
import { useCsv } from '../../../receipts/use-csv.ts'
import { Card } from '../../../ui/Card.tsx'
import { useFocusBack } from '../../../ui/focus-back.ts'
import { useFormat } from '../../../ui/format.ts'
import { type Column, TwoLines } from '../../../ui/RowTable.tsx'
import { SegmentedFilter } from '../../../ui/SegmentedFilter.tsx'
import { refreshMs } from '../refresh.ts'
import { TransactionFilters } from './TransactionFilters.tsx'
import classes from './TransactionList.module.css'
import { queryOfSearch, transactionSearch } from './transaction-search.ts'

const ReceiptDialog = lazyPart(() =>
  import('../../../receipts/ReceiptDialog.tsx').then(module => module.ReceiptDialog),
)

/** What is chosen in the bar: a type, or attempts that took nothing. */
const SHOWN = ['all', ...TRANSACTION_TYPES, 'not_charged'] as const

/** Money in and out, newest first; each row opens to its receipt (R3.10, B2). */
export function TransactionList() {
  const { t } = useTranslation(['payments', 'transactions'])
  const [receipt, open] = useOpened('receipt')
  useFocusBack(receipt !== '')
  const filters = useFilters(transactionSearch)
  const { type, state, method, from, to, page } = filters.values
  const query = queryOfSearch(filters.values)
  const list = useQuery({
    ...queryOf(listTransactions, { query: { ...query, ...(page > 1 ? { page } : {}) } }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) => refreshMs(data?.items, Date.now()),
  })
  const columns = useColumns(open)
  const isShort = type === 'all' && state === 'not_charged'
  const isFine = (state !== 'any' && !isShort) || method !== '' || from !== '' || to !== ''
  const [asked, setAsked] = useState<boolean | null>(null)
  const isOpen = asked ?? isFine
  const partId = useId()
  return (
    <Card padding="none">
      <ListBar
        inCard
        filters={filters}
        findLabel={t('transactions:search')}
        end={
          <>
            <ActionIcon
              variant="default"
              size={32}
              aria-label={t('transactions:filters')}
              title={t('transactions:filters')}
              aria-expanded={isOpen}
              aria-controls={isOpen ? partId : undefined}
              onClick={() => setAsked(!isOpen)}
            >
              <IconAdjustmentsHorizontal size={16} stroke={1.6} />
            </ActionIcon>
            <DownloadButton query={query} />
          </>
        }
      >
        <SegmentedFilter
          label={t('transactions.type')}
          value={isShort ? 'not_charged' : type}
          onChange={chosen =>
            filters.change(
              chosen === 'not_charged'
                ? { type: 'all', state: chosen }
                : { type: chosen, ...(isShort ? { state: 'any' } : {}) },
            )
          }
          options={SHOWN.map(value => ({
            value,
            label: value === 'not_charged' ? t('transactions:not_charged') : t(`transactions.types.${value}`),
          }))}
        />
      </ListBar>
      {isOpen && <TransactionFilters id={partId} filters={filters} />}
      <List
        plain
        label={t('transactions.label')}
        query={list}
        rows={list.data?.items}
        keyOf={row => row.id}
        columns={columns}
        skeletonRows={6}
        none={{ title: t('transactions.none'), hint: t('transactions.none_hint') }}
        noneFound={
          filters.narrowed && { title: t('transactions.none_found'), hint: t('transactions.none_found_hint') }
        }
        pages={{ page, total: list.data?.total, onChange: next => filters.change({ page: next }) }}
      />
      {receipt && (
        <Suspense>
          <ReceiptDialog id={receipt} onClose={() => open('')} />
        </Suspense>
      )}
    </Card>
  )
}

/** Saves what the filters show as a file. */
function DownloadButton({ query }: { query: ReturnType<typeof queryOfSearch> }) {
  const { t } = useTranslation('transactions')
  const { busy, save } = useCsv()
  return (
    <ActionIcon
      variant="default"
      size={32}
      loading={busy}
      aria-label={t('download')}
      title={t('download')}
      onClick={() => save('transactions.csv', () => request(downloadTransactions, { query }))}
    >
      <IconDownload size={16} stroke={1.6} />
    </ActionIcon>
  )
}

/** What a transaction was paid with, as one word or two. */
function paidWith(row: Transaction): ('cash' | 'credits' | 'coupon' | 'nothing')[] {
  if (row.status === 'failed') return ['nothing']
  return [
    ...(row.coupon_amount_micro === '0' ? [] : (['coupon'] as const)),
    ...(row.bonus_amount_micro === '0' ? [] : (['credits'] as const)),
    ...(row.cash_amount_micro === '0' ? [] : (['cash'] as const)),
  ]
}

function useColumns(open: (id: string) => void): Column<Transaction>[] {
  const { t } = useTranslation(['payments', 'transactions'])
  const format = useFormat()
  const textOf = useTransactionText()
  return useMemo(
    () => [
      {
        key: 'date',
        narrow: 'under',
        header: t('transactions.date'),
        width: '14rem',
        cell: row => <span className="tabular">{format.moment(row.date)}</span>,
      },
      {
        key: 'what',
        narrow: 'name',
        header: t('transactions.what'),
        cell: row => {
          const { title, second } = textOf(row)
          return <TwoLines first={title} second={second} />
        },
      },
      {
        key: 'paid',
        narrow: null,
        header: t('transactions:paid'),
        width: '11rem',
        cell: row => (
          <span className={classes.paid}>
            {paidWith(row)
              .map(part => t(`transactions:paid_with.${part}`))
              .join(', ')}
          </span>
        ),
      },
      {
        key: 'amount',
        narrow: 'end',
        header: t('transactions.amount'),
        align: 'end',
        width: '12rem',
        cell: row => <TransactionAmount row={row} />,
      },
      {
        key: 'receipt',
        narrow: 'actions',
        header: '',
        said: t('receipt.open'),
        align: 'end',
        width: '5.6rem',
        cell: row => (
          <ActionIcon
            color="gray"
            data-row-target
            aria-label={t('receipt.open_of', { what: textOf(row).title })}
            title={t('receipt.open')}
            onClick={() => open(row.id)}
          >
            <IconReceipt size={16} stroke={1.6} />
          </ActionIcon>
        ),
      },
    ],
    [t, format, textOf, open],
  )
}
