import { BILL_GROUPS, type BillLine, getBill } from '@berth/contract/bills'
import { ActionIcon } from '@mantine/core'
import { IconChevronRight } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { List } from '../../lists/List.tsx'
import { ListBar } from '../../lists/ListBar.tsx'
import type { Filters } from '../../lists/use-filters.ts'
import { Card } from '../../ui/Card.tsx'
import { useFormat } from '../../ui/format.ts'
import { type Column, TwoLines } from '../../ui/RowTable.tsx'
import { SegmentedFilter } from '../../ui/SegmentedFilter.tsx'
import type { BillSearch } from './bill-search.ts'
import { REFRESH_MS } from './refresh-ms.ts'
import { useBillWords } from './use-bill-words.ts'

interface BillLinesProps {
  month: string
  filters: Filters<BillSearch>
  /** Told the id of a line that is to be opened. */
  onOpen: (id: string) => void
}

/** The lines of a month, by thing, day or kind. */
export function BillLines({ month, filters, onOpen }: BillLinesProps) {
  const { t } = useTranslation('bills')
  const { group, q, page } = filters.values
  const query = { month, group, ...(q ? { search: q } : {}), ...(page > 1 ? { page } : {}) }
  const bill = useQuery({
    ...queryOf(getBill, { query }),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  })
  const columns = useColumns(bill.data?.currency ?? 'USD', onOpen)
  return (
    <Card padding="none">
      <ListBar inCard filters={filters} findLabel={t('search')}>
        <SegmentedFilter
          label={t('group')}
          value={group}
          onChange={chosen => filters.change({ group: chosen })}
          options={BILL_GROUPS.map(value => ({ value, label: t(`groups.${value}`) }))}
        />
      </ListBar>
      <List
        label={t('lines')}
        query={bill}
        rows={bill.data?.items}
        keyOf={line => line.id}
        columns={columns}
        none={{ title: t('none'), hint: t('none_hint') }}
        noneFound={q !== '' && { title: t('none_found'), hint: t('none_found_hint') }}
        pages={{ page, total: bill.data?.total, onChange: next => filters.change({ page: next }) }}
      />
    </Card>
  )
}

function useColumns(currency: string, open: (id: string) => void): Column<BillLine>[] {
  const { t } = useTranslation('bills')
  const format = useFormat()
  const words = useBillWords()
  return useMemo(
    () => [
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
        width: '26%',
        wideOnly: true,
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
            first={t('stretches', { count: line.stretches })}
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
      {
        key: 'open',
        narrow: 'actions',
        header: '',
        said: t('open'),
        align: 'end',
        width: '5.6rem',
        cell: line => (
          <ActionIcon
            color="gray"
            data-row-target
            aria-label={t('open_of', { what: words.title(line) })}
            title={t('open')}
            onClick={() => open(line.id)}
          >
            <IconChevronRight size={16} stroke={1.6} />
          </ActionIcon>
        ),
      },
    ],
    [t, format, words, currency, open],
  )
}
