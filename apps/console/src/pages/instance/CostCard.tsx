import { listTransactions, type Transaction } from '@berth/contract/billing'
import type { Instance } from '@berth/contract/instances'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { searchOf } from '../../app/search.ts'
import { useInstanceTexts } from '../../instances/instance-texts.ts'
import { bytesText } from '../../ui/bytes.ts'
import { Card } from '../../ui/Card.tsx'
import { useFormat } from '../../ui/format.ts'
import classes from './CostCard.module.css'

/** The stretches that are looked at without asking for more. */
const STRETCHES_MAX = 4
const REFRESH_MS = 15_000

/** What the instance has cost, from what that is made, and what it costs from here on; each stretch leads to its receipt. */
export function CostCard({ instance }: { instance: Instance }) {
  const { t } = useTranslation(['instance', 'terms-of-payment'])
  const format = useFormat()
  const { instance_id, currency, cost_micro, running_micro_per_hour, stopped_micro_per_day } = instance
  const limit = instance.spend_limit_cents
  const term = useInstanceTexts().cost(instance)
  const { data } = useQuery({
    ...queryOf(listTransactions, {
      query: { type: 'usage', search: instance_id, page_size: STRETCHES_MAX },
    }),
    refetchInterval: REFRESH_MS,
  })
  // What is searched for may stand in another instance's name.
  const own = data?.items.filter(({ about }) => about.instance_id === instance_id) ?? []
  // Both are read on their own, so the stretches may be the newer: a part is never more than the whole.
  const total = max(
    BigInt(cost_micro),
    own.map(soFar).reduce((sum, one) => sum + one, 0n),
  )
  const isFree = total === 0n
  const [newest] = own
  return (
    <Card
      title={t('cost.title')}
      aside={newest ? <Receipt row={newest}>{t('cost.receipt')}</Receipt> : t('cost.no_receipt')}
    >
      <p className={classes.total}>
        <strong>{format.money(total, currency)}</strong>
        {isFree && <span>{t('cost.from_ready')}</span>}
      </p>
      <dl className={classes.lines}>
        {own.map(row => (
          <div key={row.id}>
            <dt>
              <Receipt row={row}>
                {row.about.charge_cycle
                  ? t(`terms-of-payment:transaction.short.${row.about.charge_cycle}`)
                  : row.about.sent_bytes !== null
                    ? t('cost.stretch.traffic', { size: bytesText(row.about.sent_bytes) })
                    : t(row.about.usage === 'disk' ? 'cost.stretch.disk' : 'cost.stretch.compute', {
                        span: format.duration(row.about.seconds ?? 0, true),
                      })}
              </Receipt>
            </dt>
            <dd>{format.moneyParts([soFar(row)], currency, 4).total}</dd>
          </div>
        ))}
        {own.length > 0 && data && data.total > own.length && (
          <div>
            <dt>
              <Link to="/payments" search={searchOf({ q: instance_id })}>
                {t('cost.all')}
              </Link>
            </dt>
          </div>
        )}
        {instance.billing_type === 'prepay' ? (
          <div className={classes.apart}>
            <dt>{term.second}</dt>
            <dd>{term.first}</dd>
          </div>
        ) : (
          <>
            <div className={classes.apart}>
              <dt>{t('cost.running')}</dt>
              <dd>{format.rate(running_micro_per_hour, currency, 'h', true)}</dd>
            </div>
            <div>
              <dt>{t('cost.stopped')}</dt>
              <dd>{format.rate(stopped_micro_per_day, currency, 'day')}</dd>
            </div>
          </>
        )}
        {instance.traffic_micro_per_gb !== '0' && (
          <div>
            <dt>{t('cost.traffic')}</dt>
            <dd>{format.rate(instance.traffic_micro_per_gb, currency, 'gb', true)}</dd>
          </div>
        )}
        {instance.eip?.type === 'dedicated' && (
          <div>
            <dt>{t('cost.public_ip', { address: instance.eip.address })}</dt>
            <dd>{format.rate(instance.eip.rate_micro_per_hour, currency, 'h', true)}</dd>
          </div>
        )}
        {limit !== null && (
          <div>
            <dt>{t('cost.limit')}</dt>
            <dd>
              {t('cost.of_limit', {
                total: format.money(total, currency),
                limit: format.cents(limit, currency),
              })}
            </dd>
          </div>
        )}
      </dl>
    </Card>
  )
}

function Receipt({ row, children }: { row: Transaction; children: string }) {
  const id = row.about.instance_id ?? ''
  return (
    <Link to="/payments" search={searchOf({ q: id, receipt: row.id })}>
      {children}
    </Link>
  )
}

function max(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}

/** What a stretch comes to by now, what is not posted yet included: positive, for it stands among costs. */
function soFar({ amount_micro, pending_amount_micro }: Transaction): bigint {
  return -(BigInt(amount_micro) + BigInt(pending_amount_micro))
}
