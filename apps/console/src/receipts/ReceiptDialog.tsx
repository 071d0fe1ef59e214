import { getReceipt, type Receipt } from '@berth/contract/billing'
import { Modal } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../api/queries.ts'
import { Answer } from '../ui/Answer.tsx'
import { CopyText } from '../ui/CopyText.tsx'
import { EventWords } from '../ui/EventWords.tsx'
import { useFormat } from '../ui/format.ts'
import classes from './ReceiptDialog.module.css'
import { SaveInvoiceButton } from './SaveInvoiceButton.tsx'
import { TransactionAmount } from './TransactionAmount.tsx'
import { useTransactionText } from './transaction-text.ts'

interface ReceiptDialogProps {
  /** The transaction's id. */
  id: string
  onClose: () => void
}

/** A transaction opened: what was metered, what was booked for it, and what the instance went through (B2). */
export function ReceiptDialog({ id, onClose }: ReceiptDialogProps) {
  const { t } = useTranslation(['payments', 'common'])
  const query = useQuery(queryOf(getReceipt, { params: { id } }))
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('receipt.title')}
      closeButtonProps={{ 'aria-label': t('common:dialog.close') }}
      size={640}
    >
      <Answer query={query} data={query.data} rows={5}>
        {receipt => <ReceiptBody receipt={receipt} />}
      </Answer>
    </Modal>
  )
}

function ReceiptBody({ receipt }: { receipt: Receipt }) {
  const { t } = useTranslation(['payments', 'events'])
  const format = useFormat()
  const textOf = useTransactionText()
  const { transaction, interval, lines, events } = receipt
  const { title, second } = textOf(transaction)
  return (
    <div className={classes.receipt}>
      <header className={classes.head}>
        <div>
          <p className={classes.title}>{title}</p>
          <p className={classes.second}>{second}</p>
        </div>
        <p className={classes.total}>
          <TransactionAmount row={transaction} exact />
        </p>
      </header>
      {interval && (
        <IntervalPart
          interval={interval}
          isTerm={transaction.about.charge_cycle !== null}
          currency={transaction.currency}
        />
      )}
      {events.length > 0 && (
        <section>
          <h3>{t('receipt.events')}</h3>
          <ul className={classes.list}>
            {events.map(event => (
              <li key={`${event.at}${event.code}`}>
                <span className={classes.when}>{format.moment(event.at)}</span>
                <span>{t(`events:event.${event.code as 'ready'}`, { defaultValue: event.code })}</span>
                <div className={classes.detail}>
                  <EventWords detail={event.detail} of={event.code} />
                </div>
              </li>
            ))}
          </ul>
        </section>
      )}
      {lines.length > 0 && <BookLines lines={lines} currency={transaction.currency} />}
      {transaction.invoice !== null && <SaveInvoiceButton id={transaction.invoice} />}
      <CopyText value={transaction.id} label={t('receipt.id')} mono />
    </div>
  )
}

/** The ledger's own entries, folded: few ask for them, and who does wants each. */
function BookLines({ lines, currency }: { lines: Receipt['lines']; currency: string }) {
  const { t } = useTranslation('payments')
  const format = useFormat()
  const sideText = (side: Receipt['lines'][number]['from_account'], platform: string | null) =>
    side === 'clearing' ? (platform ?? '') : t(`receipt.sides.${side}`)
  return (
    <details className={classes.fold}>
      <summary>{t('receipt.lines')}</summary>
      <ul className={classes.list}>
        {lines.map(line => (
          <li key={`${line.date}${line.from_account}${line.to_account}`}>
            <span className={classes.when}>{format.date(line.date)}</span>
            <span>
              {t('receipt.line', {
                from: sideText(line.from_account, line.platform),
                to: sideText(line.to_account, line.platform),
              })}
              {line.entries > 1 && (
                <span className={classes.detail}> {t('receipt.entries', { count: line.entries })}</span>
              )}
            </span>
            <span className="tabular">{format.exactMoney(line.amount_micro, currency)}</span>
          </li>
        ))}
      </ul>
    </details>
  )
}

function IntervalPart({
  interval,
  isTerm,
  currency,
}: {
  interval: NonNullable<Receipt['interval']>
  /** It was paid in advance: its price is that of all of it. */
  isTerm: boolean
  currency: string
}) {
  const { t } = useTranslation(['payments', 'terms-of-payment'])
  const format = useFormat()
  const formula = interval.carried_micro === '0' ? 'receipt.formula' : 'receipt.formula_carried'
  return (
    <section>
      <h3>{t('receipt.interval')}</h3>
      <p className={classes.formula}>
        {t(isTerm ? 'terms-of-payment:transaction.receipt' : formula, {
          carried: format.exactMoney(interval.carried_micro, currency),
          seconds: format.number(interval.seconds),
          rate: format.rate(interval.rate_micro_per_hour, currency, 'h', true),
          due: format.exactMoney(interval.due_micro, currency),
        })}
      </p>
      <dl className={classes.facts}>
        <dt>{t('receipt.from')}</dt>
        <dd>{format.moment(interval.started_at)}</dd>
        <dt>{t('receipt.to')}</dt>
        <dd>{interval.ended_at ? format.moment(interval.ended_at) : t('receipt.still_running')}</dd>
        <dt>{t('receipt.posted')}</dt>
        <dd>{format.exactMoney(interval.posted_micro, currency)}</dd>
        {interval.waived_micro !== '0' && (
          <>
            <dt>{t('receipt.waived')}</dt>
            <dd>{format.exactMoney(interval.waived_micro, currency)}</dd>
          </>
        )}
      </dl>
    </section>
  )
}
