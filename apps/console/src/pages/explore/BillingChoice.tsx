import { CHARGE_CYCLES, type ChargeCycle, type TermPrice } from '@berth/contract/charge-terms'
import type { DeploySetup } from '@berth/contract/deploy-templates'
import type { Price } from '@berth/contract/instances'
import { Switch } from '@mantine/core'
import { useId } from 'react'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../../ui/format.ts'
import { SegmentedFilter } from '../../ui/SegmentedFilter.tsx'
import classes from './BillingChoice.module.css'
import card from './PriceCard.module.css'

/** How an instance is to be paid for. */
export interface Billing {
  /** Null is on demand. */
  cycle: ChargeCycle | null
  autoRenew: boolean
}

/** What a new form begins with. */
export const ON_DEMAND: Billing = { cycle: null, autoRenew: true }

const CHOICES = ['on_demand', ...CHARGE_CYCLES] as const

interface BillingChoiceProps {
  value: Billing
  onChange: (value: Billing) => void
  /** What each way costs; none while it is asked for. */
  price: Price | undefined
}

/** On demand, by the week or by the month, each with its price and what it saves; and whether a term is renewed (R1.4). */
export function BillingChoice({ value, onChange, price }: BillingChoiceProps) {
  const { t } = useTranslation('terms-of-payment')
  const format = useFormat()
  const noteId = useId()
  const { cycle, autoRenew } = value
  return (
    <div className={classes.choice}>
      <SegmentedFilter
        fill
        label={t('choice.label')}
        value={cycle ?? 'on_demand'}
        onChange={chosen => onChange({ autoRenew, cycle: chosen === 'on_demand' ? null : chosen })}
        options={CHOICES.map(one => ({ value: one, label: t(`choice.${one}`) }))}
      />
      {price && (
        <ul className={classes.prices}>
          <li data-chosen={cycle === null || undefined}>
            <span>{format.rate(price.running_micro_per_hour, price.currency, 'h', true)}</span>
            <span>{t('choice.by_second')}</span>
          </li>
          {price.terms.map(term => (
            <li key={term.charge_cycle} data-chosen={cycle === term.charge_cycle || undefined}>
              <span>
                {t(`per.${term.charge_cycle}`, { amount: format.money(term.price_micro, price.currency) })}
              </span>
              <span>{t('choice.less', { percent: savedPercent(term, price) })}</span>
            </li>
          ))}
        </ul>
      )}
      {cycle !== null && (
        <>
          <Switch
            labelPosition="left"
            withThumbIndicator={false}
            label={t('choice.auto_renew')}
            checked={autoRenew}
            aria-describedby={noteId}
            onChange={event => onChange({ cycle, autoRenew: event.currentTarget.checked })}
          />
          <p id={noteId} className={classes.note}>
            {t(autoRenew ? 'choice.renewed' : 'choice.released')}
          </p>
        </>
      )}
    </div>
  )
}

/** The price of a term, line by line, and what is taken of the balance for it. */
export function TermLines({ term, price }: { term: TermPrice; price: Price }) {
  const { t } = useTranslation(['terms-of-payment', 'explore'])
  const format = useFormat()
  const [machine, disk] = price.lines
  const own = price.lines.find(isOwnDisk)
  const address = price.lines.find(({ key }) => key === 'public_ip')
  const { parts, total } = format.moneyParts(
    [term.machine_micro, term.disk_micro, term.own_disk_micro],
    price.currency,
  )
  return (
    <>
      <div>
        <dt>{machine && t('explore:price.machine', { count: machine.quantity, name: machine.name })}</dt>
        <dd>{parts[0]}</dd>
      </div>
      <div>
        <dt>{disk && t('explore:price.disk', { paid: disk.quantity, of: disk.of ?? disk.quantity })}</dt>
        <dd>{parts[1]}</dd>
      </div>
      {own && (
        <div>
          <dt>{t(`explore:price.${own.key}`, { gb: own.quantity })}</dt>
          <dd>{parts[2]}</dd>
        </div>
      )}
      <div className={card.running}>
        <dt>
          {t('choice.today')}
          <span className={classes.days}>{t('choice.days', { days: term.days })}</span>
        </dt>
        <dd>{total}</dd>
      </div>
      {address && (
        <div>
          <dt>{t('explore:price.public_ip_besides')}</dt>
          <dd>{format.rate(address.rate_micro_per_hour, price.currency, 'h', true)}</dd>
        </div>
      )}
    </>
  )
}

/** Whether a line is that of a disk beside the one that a machine starts from. */
export function isOwnDisk(
  line: Price['lines'][number],
): line is Price['lines'][number] & { key: 'data_disk' | 'pod_volume' } {
  return line.key === 'data_disk' || line.key === 'pod_volume'
}

/** How a deploy that is repeated was to be paid for. What was on demand says nothing of renewals. */
export function billingOf({
  charge_cycle: cycle,
  auto_renew,
}: Pick<DeploySetup, 'charge_cycle' | 'auto_renew'>): Billing {
  return { cycle, autoRenew: cycle === null ? ON_DEMAND.autoRenew : auto_renew }
}

/** The same as a deploy says it. */
export function payingOf({ cycle }: Billing) {
  return { billing_type: cycle === null ? ('postpay' as const) : ('prepay' as const), charge_cycle: cycle }
}

/** What the term costs that is chosen; undefined on demand. */
export function termOf(price: Price, { cycle }: Billing): TermPrice | undefined {
  return price.terms.find(term => term.charge_cycle === cycle)
}

/** What a term costs less than its hours on demand, in whole percent, rounded down: never more than it is. */
function savedPercent({ price_micro, days }: TermPrice, price: Price): number {
  // An address is metered by the hour in either case.
  const byHour = price.lines.filter(({ key }) => key !== 'public_ip')
  const perHour = byHour.reduce((sum, line) => sum + BigInt(line.rate_micro_per_hour), 0n)
  const onDemand = perHour * 24n * BigInt(days)
  return onDemand === 0n ? 0 : Number(((onDemand - BigInt(price_micro)) * 100n) / onDemand)
}
