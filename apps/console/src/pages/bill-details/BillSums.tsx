import { type Bill, getBill } from '@berth/contract/bills'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { Answer } from '../../ui/Answer.tsx'
import { Card } from '../../ui/Card.tsx'
import { useFormat } from '../../ui/format.ts'
import classes from './BillDetailsPage.module.css'
import { MonthInvoices } from './MonthInvoices.tsx'
import { REFRESH_MS } from './refresh-ms.ts'
import { useBillWords } from './use-bill-words.ts'

/** No month has more days. */
const DAYS_MAX = 31

/** What a month came to, by kind of usage and by day, and its invoices. */
export function BillSums({ month, isOver }: { month: string; isOver: boolean }) {
  const { t } = useTranslation('bills')
  const query = useQuery({
    ...queryOf(getBill, { query: { month, group: 'day', page_size: DAYS_MAX } }),
    refetchInterval: REFRESH_MS,
  })
  return (
    <div className={classes.head}>
      <Card>
        <Answer query={query} data={query.data} rows={3}>
          {bill => <Sums bill={bill} />}
        </Answer>
      </Card>
      <Card title={t('days')}>
        <Answer query={query} data={query.data} rows={3}>
          {bill => <Days bill={bill} month={month} />}
        </Answer>
      </Card>
      <MonthInvoices month={month} isOver={isOver} />
    </div>
  )
}

function Sums({ bill }: { bill: Bill }) {
  const { t } = useTranslation('bills')
  const format = useFormat()
  const words = useBillWords()
  const { sum, kinds, currency } = bill
  const texts = format.moneyParts(
    kinds.map(kind => kind.amount_micro),
    currency,
  )
  const paid = format.moneyParts([sum.credits_micro, sum.cash_micro], currency)
  return (
    <>
      <p className={classes.label}>
        {t('period', { from: format.utcMoment(bill.from), until: format.utcMoment(bill.until) })}
      </p>
      <p className={classes.amount}>{texts.total}</p>
      <dl className={classes.kinds}>
        {kinds.map((kind, index) => (
          <div key={kind.usage} data-usage={kind.usage}>
            <dt>{words.kind(kind.usage)}</dt>
            <dd className="tabular">{texts.parts[index]}</dd>
          </div>
        ))}
      </dl>
      <p className={classes.second}>{t('paid', { credits: paid.parts[0], cash: paid.parts[1] })}</p>
      {sum.waived_micro !== '0' && (
        <p className={classes.second}>{t('waived', { amount: format.money(sum.waived_micro, currency) })}</p>
      )}
    </>
  )
}

/** The days of the month as bars of their kinds, those without any as well; what is read adds up. */
function Days({ bill, month }: { bill: Bill; month: string }) {
  const { t } = useTranslation('bills')
  const format = useFormat()
  const words = useBillWords()
  const spent = bill.items.toReversed()
  const amounts = spent.map(day => BigInt(day.amount_micro))
  const texts = format.moneyParts(amounts, bill.currency)
  const most = amounts.reduce((largest, amount) => (amount > largest ? amount : largest), 1n)
  const days = daysOf(month)
  if (spent.length === 0) return <p className={classes.none}>{t('none')}</p>
  return (
    <>
      <ol className={classes.chart} aria-label={t('days')}>
        {days.map(date => {
          const index = spent.findIndex(({ id }) => id === date)
          const day = spent[index]
          if (!day) return <li key={date} aria-hidden="true" />
          const said = `${format.day(date)}: ${texts.parts[index]}`
          return (
            <li key={date} title={said}>
              <span className="said">{said}</span>
              {day.parts
                .filter(part => BigInt(part.amount_micro) > 0n)
                .map(part => (
                  <span
                    key={part.usage}
                    aria-hidden="true"
                    title={`${format.day(date)}, ${words.kind(part.usage)}: ${format.money(part.amount_micro, bill.currency)}`}
                    data-usage={part.usage}
                    style={{ height: `${Number((BigInt(part.amount_micro) * 1_000n) / most) / 10}%` }}
                  />
                ))}
            </li>
          )
        })}
      </ol>
      <p className={classes.ends} aria-hidden="true">
        <span>{format.day(days[0] ?? '')}</span>
        <span>{format.day(days.at(-1) ?? '')}</span>
      </p>
    </>
  )
}

/** The days of a month: `2026-11` gives `2026-11-01` to `2026-11-30`. */
function daysOf(month: string): string[] {
  const [year, number] = month.split('-').map(Number)
  const count = new Date(Date.UTC(year ?? 0, number ?? 1, 0)).getUTCDate()
  return Array.from({ length: count }, (_, index) => `${month}-${String(index + 1).padStart(2, '0')}`)
}
