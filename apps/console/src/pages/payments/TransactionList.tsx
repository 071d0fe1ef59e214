import { listTransactions, TRANSACTION_TYPES, type Transaction } from '@berth/contract/billing'
import { ActionIcon } from '@mantine/core'
import { IconReceipt } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Suspense, useCallback, useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { queryOf } from '../../api/queries.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { usePageSearch } from '../../app/search.ts'
import { List } from '../../lists/List.tsx'
import { ListBar } from '../../lists/ListBar.tsx'
import { findText, pageNumber, useFilters } from '../../lists/use-filters.ts'
import { TransactionAmount } from '../../receipts/TransactionAmount.tsx'
import { useTransactionText } from '../../receipts/transaction-text.ts'
import { Card } from '../../ui/Card.tsx'
import { useFocusBack } from '../../ui/focus-back.ts'
import { useFormat } from '../../ui/format.ts'
import { type Column, TwoLines } from '../../ui/RowTable.tsx'
import { SegmentedFilter } from '../../ui/SegmentedFilter.tsx'
import { refreshMs } from './refresh.ts'

const ReceiptDialog = lazyPart(() =>
  import('../../receipts/ReceiptDialog.tsx').then(module => module.ReceiptDialog),
)

const search = z.object({
  type: z.enum(['all', ...TRANSACTION_TYPES]).catch('all'),
  q: findText,
  page: pageNumber,
})

const receiptSearch = z.object({ receipt: z.string().max(80).catch('') })

/** Money in and out, newest first; each row opens to its receipt (R3.10, B2). */
export function TransactionList() {
  const { t } = useTranslation('payments')
  const [{ receipt }, setSearch] = usePageSearch(receiptSearch)
  useFocusBack(receipt !== '')
  const filters = useFilters(search)
  const { type, q, page } = filters.values
  const query = {
    ...(type === 'all' ? {} : { type }),
    ...(q ? { search: q } : {}),
    ...(page > 1 ? { page } : {}),
  }
  const list = useQuery({
    ...queryOf(listTransactions, { query }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) => refreshMs(data?.items, Date.now()),
  })
  const columns = useColumns(useCallback(id => setSearch({ receipt: id }), [setSearch]))
  return (
    <Card padding="none">
      <ListBar inCard filters={filters} findLabel={t('transactions.search')}>
        <SegmentedFilter
          label={t('transactions.type')}
          value={type}
          onChange={chosen => filters.change({ type: chosen })}
          options={(['all', ...TRANSACTION_TYPES] as const).map(value => ({
            value,
            label: t(`transactions.types.${value}`),
          }))}
        />
      </ListBar>
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
          <ReceiptDialog id={receipt} onClose={() => setSearch({ receipt: '' })} />
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
