import { listTransactions, TRANSACTION_TYPES, type Transaction } from '@berth/contract/billing'
import { PAGE_SIZE_DEFAULT } from '@berth/contract/limits'
import { ActionIcon, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { IconReceipt, IconSearch } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { queryOf } from '../../api/queries.ts'
import { usePageSearch } from '../../app/search.ts'
import { Card } from '../../ui/Card.tsx'
import { EmptyState } from '../../ui/EmptyState.tsx'
import { ErrorState } from '../../ui/ErrorState.tsx'
import { useFormat } from '../../ui/format.ts'
import { Money } from '../../ui/Money.tsx'
import { Pager } from '../../ui/Pager.tsx'
import { type Column, RowTable, TwoLines } from '../../ui/RowTable.tsx'
import { SegmentedFilter } from '../../ui/SegmentedFilter.tsx'
import { SkeletonRows } from '../../ui/SkeletonRows.tsx'
import classes from './TransactionList.module.css'
import { useTransactionText } from './transaction-text.ts'

const ReceiptDialog = lazy(() =>
  import('./ReceiptDialog.tsx').then(module => ({ default: module.ReceiptDialog })),
)

/** A running machine's row grows while it is looked at. */
const REFRESH_MS = 30_000

const search = z.object({
  type: z.enum(['all', ...TRANSACTION_TYPES]).catch('all'),
  q: z.string().max(100).catch(''),
  page: z.coerce.number().int().min(1).max(100_000).catch(1),
  receipt: z.string().max(80).catch(''),
})

/** Money in and out, newest first; each row opens to its receipt (R3.10, B2). */
export function TransactionList() {
  const { t } = useTranslation('payments')
  const [filters, setFilters] = usePageSearch(search)
  const [typed, setTyped] = useState(filters.q)
  const find = useDebouncedCallback((q: string) => setFilters({ q, page: 1 }), 250)
  const query = {
    ...(filters.type === 'all' ? {} : { type: filters.type }),
    ...(filters.q ? { search: filters.q } : {}),
    ...(filters.page > 1 ? { page: filters.page } : {}),
  }
  const { data, error, refetch } = useQuery({
    ...queryOf(listTransactions, { query }),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  })
  const columns = useColumns(id => setFilters({ receipt: id }))
  const narrowed = filters.type !== 'all' || filters.q !== ''
  return (
    <Card padding="none">
      <div className={classes.bar}>
        <SegmentedFilter
          label={t('transactions.type')}
          value={filters.type}
          onChange={type => setFilters({ type, page: 1 })}
          options={(['all', ...TRANSACTION_TYPES] as const).map(value => ({
            value,
            label: t(`transactions.types.${value}`),
          }))}
        />
        <TextInput
          className={classes.search}
          aria-label={t('transactions.search')}
          placeholder={t('transactions.search')}
          leftSection={<IconSearch size={16} stroke={1.6} />}
          value={typed}
          maxLength={100}
          onChange={event => {
            setTyped(event.currentTarget.value)
            find(event.currentTarget.value)
          }}
        />
      </div>
      {!data && error && (
        <ErrorState message={error.message} requestId={error.requestId} onRetry={() => void refetch()} />
      )}
      {!data && !error && <SkeletonRows rows={6} />}
      {data && data.items.length === 0 && (
        <EmptyState
          title={narrowed ? t('transactions.none_found') : t('transactions.none')}
          hint={narrowed ? t('transactions.none_found_hint') : t('transactions.none_hint')}
        />
      )}
      {data && data.items.length > 0 && (
        <RowTable
          plain
          label={t('transactions.label')}
          columns={columns}
          rows={data.items}
          keyOf={row => row.id}
        />
      )}
      {data && (
        <Pager
          page={filters.page}
          pageSize={PAGE_SIZE_DEFAULT}
          total={data.total}
          onChange={page => setFilters({ page })}
        />
      )}
      {filters.receipt && (
        <Suspense>
          <ReceiptDialog id={filters.receipt} onClose={() => setFilters({ receipt: '' })} />
        </Suspense>
      )}
    </Card>
  )
}

function useColumns(open: (id: string) => void): Column<Transaction>[] {
  const { t } = useTranslation('payments')
  const format = useFormat()
  const textOf = useTransactionText()
  return useMemo(
    () => [
      {
        key: 'date',
        header: t('transactions.date'),
        width: '14rem',
        cell: row => <span className="tabular">{format.moment(row.date)}</span>,
      },
      {
        key: 'what',
        header: t('transactions.what'),
        cell: row => {
          const { title, second } = textOf(row)
          return <TwoLines first={title} second={second} />
        },
      },
      {
        key: 'amount',
        header: t('transactions.amount'),
        align: 'end',
        width: '12rem',
        cell: row =>
          row.status === 'failed' ? (
            <span className={classes.failed}>{t('transactions.failed')}</span>
          ) : (
            <Money micro={row.amount_micro} currency={row.currency} signed />
          ),
      },
      {
        key: 'receipt',
        header: '',
        said: t('receipt.open'),
        align: 'end',
        width: '5.6rem',
        cell: row => (
          <ActionIcon
            color="gray"
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
