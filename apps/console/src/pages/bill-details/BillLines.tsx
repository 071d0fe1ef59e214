import { BILL_GROUPS, type BillLine, getBill, getBillLine } from '@berth/contract/bills'
import { ActionIcon } from '@mantine/core'
import { IconChevronRight } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useId, useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { useOpened } from '../../app/search.ts'
import { List } from '../../lists/List.tsx'
import { ListBar } from '../../lists/ListBar.tsx'
import type { Filters } from '../../lists/use-filters.ts'
import { Card } from '../../ui/Card.tsx'
import { useFormat } from '../../ui/format.ts'
import { type Column, TwoLines } from '../../ui/RowTable.tsx'
import { SegmentedFilter } from '../../ui/SegmentedFilter.tsx'
import classes from './BillDetailsPage.module.css'
import type { BillSearch } from './bill-search.ts'
import { OpenedLine } from './OpenedLine.tsx'
import { REFRESH_MS } from './refresh-ms.ts'
import { useBillWords } from './use-bill-words.ts'

interface BillLinesProps {
  month: string
  filters: Filters<BillSearch>
  /** Told the id of a transaction whose receipt is to be opened. */
  onReceipt: (id: string) => void
}

/** The lines of a month, by thing, day or kind; one at a time opens in place to what it is made of (B2). */
export function BillLines({ month, filters, onReceipt }: BillLinesProps) {
  const { t } = useTranslation('bills')
  const { group, q, page } = filters.values
  const [line, open] = useOpened('line')
  const openedId = useId()
  const asked = { month, group, ...(q ? { search: q } : {}) }
  const bill = useQuery({
    ...queryOf(getBill, { query: { ...asked, ...(page > 1 ? { page } : {}) } }),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  })
  const items = bill.data?.items
  const isElsewhere = line !== '' && items !== undefined && !items.some(({ id }) => id === line)
  // What runs overtakes other lines: one that a link opens may have come to another page.
  const elsewhere = useQuery({
    ...queryOf(getBillLine, { query: { ...asked, line } }),
    enabled: isElsewhere,
  })
  const first = isElsewhere && elsewhere.data?.line.id === line ? [elsewhere.data.line] : []
  const words = useBillWords()
  const columns = useColumns(bill.data?.currency ?? 'USD', { opened: line, openedId, open })
  return (
    <Card padding="none">
      <ListBar inCard filters={filters} findLabel={t('search')}>
        <SegmentedFilter
          label={t('group')}
          value={group}
          onChange={chosen => filters.change({ group: chosen, line: '' })}
          options={BILL_GROUPS.map(value => ({ value, label: t(`groups.${value}`) }))}
        />
      </ListBar>
      <List
        label={t('lines')}
        query={bill}
        rows={items && [...first, ...items]}
        keyOf={({ id }) => id}
        columns={columns}
        below={({ id, ...one }) =>
          id === line && (
            <OpenedLine
              key={id}
              id={openedId}
              label={words.title({ id, ...one })}
              query={{ ...asked, line }}
              onReceipt={onReceipt}
            />
          )
        }
        none={{ title: t('none'), hint: t('none_hint') }}
        noneFound={q !== '' && { title: t('none_found'), hint: t('none_found_hint') }}
        pages={{ page, total: bill.data?.total, onChange: next => filters.change({ page: next, line: '' }) }}
      />
    </Card>
  )
}

interface Opening {
  /** The id of the line that is opened; empty for none. */
  opened: string
  /** That of the part of the page that it is opened to. */
  openedId: string
  open: (id: string) => void
}

function useColumns(currency: string, { opened, openedId, open }: Opening): Column<BillLine>[] {
  const { t } = useTranslation('bills')
  const format = useFormat()
  const words = useBillWords()
  return useMemo(
    () => [
      {
        key: 'open',
        narrow: 'actions',
        header: '',
        said: t('open'),
        width: '4.8rem',
        cell: line => {
          const isOpened = line.id === opened
          return (
            <ActionIcon
              color="gray"
              data-row-target
              aria-label={t('open_of', { what: words.title(line) })}
              title={t(isOpened ? 'close' : 'open')}
              aria-expanded={isOpened}
              aria-controls={isOpened ? openedId : undefined}
              onClick={() => open(isOpened ? '' : line.id)}
            >
              <IconChevronRight size={16} stroke={1.6} className={classes.chevron} />
            </ActionIcon>
          )
        },
      },
      {
        key: 'what',
        narrow: 'whole',
        header: t('what'),
        cell: line => <TwoLines strong first={words.title(line)} second={words.second(line)} mono />,
      },
      {
        key: 'kind',
        narrow: null,
        header: t('kind'),
        width: '24%',
        cell: line => (
          <TwoLines
            first={line.parts.map(part => words.kind(part.usage)).join(', ')}
            second={
              line.subject?.gpu_spec_name
                ? `${line.subject.gpu_count ?? 1}× ${line.subject.gpu_spec_name}`
                : undefined
            }
          />
        ),
      },
      {
        key: 'measured',
        narrow: 'under',
        header: t('measured'),
        width: '24%',
        cell: line => (
          <TwoLines
            first={t(line.usage === 'model' ? 'calls' : 'stretches', { count: line.stretches })}
            // What was counted has taken no time.
            second={line.seconds > 0 ? format.duration(line.seconds, true) : undefined}
          />
        ),
      },
      {
        key: 'amount',
        narrow: 'end',
        header: t('amount'),
        align: 'end',
        width: '16rem',
        cell: line => (
          <TwoLines
            first={<span className="tabular">{format.money(line.amount_micro, currency)}</span>}
            second={
              line.waived_micro === '0'
                ? undefined
                : t('waived_short', { amount: format.money(line.waived_micro, currency) })
            }
          />
        ),
      },
    ],
    [t, format, words, currency, opened, openedId, open],
  )
}
