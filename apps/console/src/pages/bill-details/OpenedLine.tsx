import { type BillGroup, type BillStretch, getBillLine } from '@berth/contract/bills'
import { ActionIcon } from '@mantine/core'
import { IconReceipt } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { List } from '../../lists/List.tsx'
import { useFormat } from '../../ui/format.ts'
import { type Column, TwoLines } from '../../ui/RowTable.tsx'
import classes from './OpenedLine.module.css'
import { REFRESH_MS } from './refresh-ms.ts'
import { useBillWords } from './use-bill-words.ts'

interface OpenedLineProps {
  /** Of the element, for the button that opens it. */
  id: string
  /** What the line is of. */
  label: string
  /** The line, asked for by what its bill was asked for by: its stretches come to its sums. */
  query: { month: string; search?: string; group: BillGroup; line: string }
  /** Told the id of a transaction whose receipt is to be opened. */
  onReceipt: (id: string) => void
}

/**
 * What a line is made of: each interval with its seconds, its rate, what began or ended it and what it came to in
 * micro-units, then their sum and what paid for it (B2).
 */
export function OpenedLine({ id, label, query, onReceipt }: OpenedLineProps) {
  const { t } = useTranslation('bills')
  const format = useFormat()
  const [page, setPage] = useState(1)
  const opened = useQuery({
    ...queryOf(getBillLine, { query: { ...query, ...(page > 1 ? { page } : {}) } }),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  })
  const { line, currency = 'USD', items, total } = opened.data ?? {}
  const has = (charge: BillStretch['charge']) => items?.some(stretch => stretch.charge === charge)
  const formulas = `${has('by_time') ? `${t('formula')} ` : ''}${has('once') ? `${t('formula_counted')} ` : ''}`
  const columns = useColumns(currency, { ofOne: query.group === 'resource', open: onReceipt })
  // A link may open one below the end of the screen, and so does the last row that is seen.
  const part = useRef<HTMLElement>(null)
  const isThere = items !== undefined
  useEffect(() => {
    if (isThere) part.current?.scrollIntoView({ block: 'nearest' })
  }, [isThere])
  return (
    <section ref={part} id={id} aria-label={t('line_of', { what: label })} className={classes.opened}>
      <List
        label={t('line_of', { what: label })}
        query={opened}
        rows={items}
        keyOf={stretch => `${stretch.receipt_id} ${stretch.from}`}
        columns={columns}
        skeletonRows={2}
        none={{ title: t('none') }}
        pages={{ page, total, onChange: setPage }}
      />
      {line && (
        <div className={classes.foot}>
          <p>
            {formulas}
            {t('paid', {
              credits: format.exactMoney(line.credits_micro, currency),
              cash: format.exactMoney(line.cash_micro, currency),
            })}
            {line.waived_micro !== '0' &&
              ` ${t('waived', { amount: format.exactMoney(line.waived_micro, currency) })}`}
          </p>
          <p className={classes.sum}>
            {t('sum')}{' '}
            <strong className="tabular">{format.moneyParts([line.amount_micro], currency, 6).total}</strong>
          </p>
        </div>
      )}
    </section>
  )
}

interface Columns {
  /** All of them are of the same thing, which is then not said of each. */
  ofOne: boolean
  open: (id: string) => void
}

function useColumns(currency: string, { ofOne, open }: Columns): Column<BillStretch>[] {
  const { t } = useTranslation('bills')
  const format = useFormat()
  const words = useBillWords()
  return useMemo(() => {
    const until = (stretch: BillStretch) =>
      stretch.until === null ? t('still') : format.utcSecond(stretch.until)
    const what = (stretch: BillStretch) =>
      ofOne ? words.cause(stretch) : `${words.subject(stretch.subject)}: ${words.cause(stretch)}`
    return [
      {
        key: 'from',
        narrow: 'whole',
        header: t('from'),
        width: '15%',
        cell: stretch => (
          <>
            <span className={classes.wide}>{format.utcSecond(stretch.from)}</span>
            <span className={classes.narrow}>
              {t('span', { from: format.utcSecond(stretch.from), until: until(stretch) })}
              <span className={classes.cause}>{what(stretch)}</span>
            </span>
          </>
        ),
      },
      { key: 'until', narrow: null, header: t('until'), width: '15%', cell: until },
      {
        key: 'seconds',
        narrow: 'under',
        header: t('seconds'),
        align: 'end',
        width: '9%',
        cell: stretch =>
          // What is counted has no seconds; of it is said how many there were.
          stretch.charge === 'once' ? (
            <span className={classes.narrow}>{words.meters(stretch, currency)}</span>
          ) : (
            <>
              {format.number(stretch.seconds)}
              <span className={classes.narrow}>
                {' '}
                {t('seconds_at', { rate: words.rate(stretch, currency) })}
              </span>
            </>
          ),
      },
      {
        key: 'rate',
        narrow: null,
        header: t('rate'),
        align: 'end',
        width: '14%',
        cell: stretch => words.rate(stretch, currency),
      },
      {
        key: 'what',
        narrow: null,
        header: t('cause'),
        cell: stretch => <TwoLines first={what(stretch)} second={words.meters(stretch, currency)} />,
      },
      {
        key: 'amount',
        narrow: 'end',
        header: t('amount'),
        align: 'end',
        width: '13%',
        cell: ({ amount_micro, waived_micro }) => (
          <TwoLines
            first={<span className="tabular">{format.moneyParts([amount_micro], currency, 6).total}</span>}
            second={
              waived_micro === '0'
                ? undefined
                : t('waived_short', { amount: format.exactMoney(waived_micro, currency) })
            }
          />
        ),
      },
      {
        key: 'receipt',
        narrow: 'actions',
        header: '',
        said: t('receipt'),
        align: 'end',
        width: '5.2rem',
        cell: ({ receipt_id, from }) => (
          <ActionIcon
            color="gray"
            data-row-target
            aria-label={t('receipt_of', { when: format.utcSecond(from) })}
            title={t('receipt')}
            onClick={() => open(receipt_id)}
          >
            <IconReceipt size={16} stroke={1.6} />
          </ActionIcon>
        ),
      },
    ]
  }, [t, format, words, currency, ofOne, open])
}
