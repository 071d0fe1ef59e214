import { type Invoice, listInvoices } from '@berth/contract/invoices'
import { ActionIcon } from '@mantine/core'
import { IconFileDownload } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../../api/queries.ts'
import { searchOf } from '../../../app/search.ts'
import { List } from '../../../lists/List.tsx'
import { useSaving } from '../../../receipts/use-saving.ts'
import { Card } from '../../../ui/Card.tsx'
import { useFormat } from '../../../ui/format.ts'
import { type Column, TwoLines } from '../../../ui/RowTable.tsx'
import { REFRESH_MS } from '../refresh.ts'
import classes from './InvoicesCard.module.css'

/** Invoices and credit notes, newest first, each to be saved as PDF (R3.10, B23). */
export function InvoicesCard() {
  const { t } = useTranslation('invoices')
  const [page, setPage] = useState(1)
  const list = useQuery({
    ...queryOf(listInvoices, { query: page > 1 ? { page } : {} }),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  })
  const columns = useColumns()
  return (
    <div className={classes.room}>
      <Card
        padding="none"
        title={t('title')}
        aside={
          <Link to="/settings" search={searchOf({ section: 'billing' })}>
            {t('details')}
          </Link>
        }
      >
        <List
          plain
          label={t('label')}
          query={list}
          rows={list.data?.items}
          keyOf={row => row.id}
          columns={columns}
          skeletonRows={3}
          none={{ title: t('none'), hint: t('none_hint') }}
          pages={{ page, total: list.data?.total, onChange: setPage }}
        />
      </Card>
    </div>
  )
}

function useColumns(): Column<Invoice>[] {
  const { t } = useTranslation('invoices')
  const format = useFormat()
  const { saving, save } = useSaving()
  return useMemo(
    () => [
      {
        key: 'date',
        narrow: 'under',
        header: t('date'),
        width: '14rem',
        // The day that is printed on it, which is one of UTC.
        cell: row => <span className="tabular">{format.date(row.date.slice(0, 10))}</span>,
      },
      {
        key: 'number',
        narrow: 'whole',
        header: t('number'),
        cell: row => (
          <TwoLines
            first={row.number}
            second={t(`kinds.${row.kind}`, {
              month: row.month === null ? '' : format.month(row.month.slice(0, 7)),
            })}
          />
        ),
      },
      {
        key: 'amount',
        narrow: 'end',
        header: t('amount'),
        align: 'end',
        width: '12rem',
        cell: row => <span className="tabular">{format.cents(row.amount, row.currency)}</span>,
      },
      {
        key: 'save',
        narrow: 'actions',
        header: '',
        said: t('save'),
        align: 'end',
        width: '5.6rem',
        cell: row => (
          <ActionIcon
            color="gray"
            data-row-target
            loading={saving === row.id}
            aria-label={t('save_of', { number: row.number })}
            title={t('save')}
            onClick={() => save(row.id)}
          >
            <IconFileDownload size={16} stroke={1.6} />
          </ActionIcon>
        ),
      },
    ],
    [t, format, saving, save],
  )
}
