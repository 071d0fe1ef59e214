import { type BillGroup, type BillStretch, getBillLine } from '@berth/contract/bills'
import { ActionIcon, Modal } from '@mantine/core'
import { IconReceipt } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { List } from '../../lists/List.tsx'
import { useFormat } from '../../ui/format.ts'
import { type Column, TwoLines } from '../../ui/RowTable.tsx'
import classes from './BillDetailsPage.module.css'
import { useBillWords } from './use-bill-words.ts'

interface LineDialogProps {
  /** The line, asked for by what its bill was asked for by: its stretches come to its sums. */
  query: { month: string; search?: string; group: BillGroup; line: string }
  /** Told the id of a transaction whose receipt is to be opened. */
  onReceipt: (id: string) => void
  onClose: () => void
}

/** A line opened: its stretches, each with its interval, rate, seconds and amount, and the way to its receipt (B2). */
export function LineDialog({ query, onReceipt, onClose }: LineDialogProps) {
  const { t } = useTranslation(['bills', 'common'])
  const format = useFormat()
  const words = useBillWords()
  const [page, setPage] = useState(1)
  const opened = useQuery({
    ...queryOf(getBillLine, { query: { ...query, page } }),
    placeholderData: keepPreviousData,
  })
  const { line, currency = 'USD', items, total } = opened.data ?? {}
  const columns = useColumns(currency, onReceipt)
  return (
    <Modal
      opened
      onClose={onClose}
      title={line ? words.title(line) : t('line')}
      closeButtonProps={{ 'aria-label': t('common:dialog.close') }}
      size={860}
    >
      {line && (
        <p className={classes.lineSum}>
          <strong className="tabular">{format.exactMoney(line.amount_micro, currency)}</strong>{' '}
          {t('paid', {
            credits: format.exactMoney(line.credits_micro, currency),
            cash: format.exactMoney(line.cash_micro, currency),
          })}
          {line.waived_micro !== '0' &&
            ` ${t('waived', { amount: format.exactMoney(line.waived_micro, currency) })}`}
        </p>
      )}
      <List
        label={t('line')}
        query={opened}
        rows={items}
        keyOf={stretch => stretch.receipt_id}
        columns={columns}
        none={{ title: t('none') }}
        pages={{ page, total, onChange: setPage }}
      />
    </Modal>
  )
}

function useColumns(currency: string, open: (id: string) => void): Column<BillStretch>[] {
  const { t } = useTranslation('bills')
  const format = useFormat()
  const words = useBillWords()
  return useMemo(
    () => [
      {
        key: 'when',
        narrow: 'name',
        header: t('when'),
        cell: ({ from, until, seconds }) => (
          <TwoLines
            first={t('span', {
              from: format.utcMoment(from),
              until: until === null ? t('still') : format.utcMoment(until),
            })}
            second={t('seconds', { seconds: format.number(seconds) })}
          />
        ),
      },
      {
        key: 'what',
        narrow: null,
        header: t('what'),
        width: '24%',
        wideOnly: true,
        cell: stretch => (
          <TwoLines first={stretch.subject.name || stretch.subject.id} second={words.kind(stretch.usage)} />
        ),
      },
      {
        key: 'rate',
        narrow: 'under',
        header: t('rate'),
        width: '30%',
        cell: stretch => (
          <TwoLines first={words.rate(stretch, currency)} second={words.meters(stretch, currency)} />
        ),
      },
      {
        key: 'amount',
        narrow: 'end',
        header: t('amount'),
        align: 'end',
        width: '13rem',
        cell: ({ amount_micro, waived_micro }) => (
          <TwoLines
            first={<span className="tabular">{format.exactMoney(amount_micro, currency)}</span>}
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
        width: '5.6rem',
        cell: ({ receipt_id, from }) => (
          <ActionIcon
            color="gray"
            data-row-target
            aria-label={t('receipt_of', { when: format.utcMoment(from) })}
            title={t('receipt')}
            onClick={() => open(receipt_id)}
          >
            <IconReceipt size={16} stroke={1.6} />
          </ActionIcon>
        ),
      },
    ],
    [t, format, words, currency, open],
  )
}
