import { spendableCents } from '@berth/contract/billing'
import { getPrice, type Instance } from '@berth/contract/instances'
import { useQueries, useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { balanceQuery, queryOf } from '../../api/queries.ts'
import { useFormat } from '../../ui/format.ts'
import { disksAsked } from '../disks-asked.ts'
import { isInTerm } from '../in-term.ts'
import { type BulkInstanceAction, MICRO_PER_CENT, sumMicro } from './bulk-plan.ts'

/** Setups whose price of today is asked for; instances of one account are of a few. */
const SETUPS_PRICED_MAX = 20

/** What will happen to instances, and what that costs or destroys. */
export function BulkText({
  action,
  instances,
}: {
  /** `renew` asks by itself, as its price is each instance's own. */
  action: Exclude<BulkInstanceAction, 'renew'>
  instances: readonly Instance[]
}) {
  if (action === 'start') return <StartText instances={instances} />
  if (action === 'stop') return <StopText instances={instances} />
  if (action === 'terminate') return <TerminateText instances={instances} />
  if (action === 'renewal_on') return <RenewalOnText instances={instances} />
  if (action === 'renewal_off') return <RenewalOffText />
  return <RestartText />
}

/** Nothing is bought now; what the last terms cost says what the next ones may. */
function RenewalOnText({ instances }: { instances: readonly Instance[] }) {
  const { t } = useTranslation('bulk')
  const format = useFormat()
  const sum = sumMicro(instances.map(({ term_micro }) => term_micro ?? '0'))
  return (
    <>
      <p>{t('renewal_on.text')}</p>
      <p>{t('renewal_on.together', { amount: format.money(sum, instances[0]?.currency ?? 'USD') })}</p>
    </>
  )
}

function RenewalOffText() {
  const { t } = useTranslation('bulk')
  return <p>{t('renewal_off.text')}</p>
}

function RestartText() {
  const { t } = useTranslation('instances')
  return <p>{t('confirm.restart.text')}</p>
}

function StopText({ instances }: { instances: readonly Instance[] }) {
  const { t } = useTranslation('bulk')
  const format = useFormat()
  const onDemand = instances.filter(one => !isInTerm(one))
  const [first] = onDemand
  return (
    <>
      <p>{t('stop.text')}</p>
      {first && (
        <p>
          {t('stop.disks', {
            rate: format.rate(
              sumMicro(onDemand.map(one => one.stopped_micro_per_day)),
              first.currency,
              'day',
              true,
            ),
          })}
        </p>
      )}
      {onDemand.length < instances.length && (
        <p>{t('stop.in_term', { count: instances.length - onDemand.length })}</p>
      )}
    </>
  )
}

function TerminateText({ instances }: { instances: readonly Instance[] }) {
  const { t } = useTranslation('bulk')
  const format = useFormat()
  const gb = instances.reduce((sum, { disks }) => sum + disks.container_gb, 0)
  const running = instances.filter(({ status }) => status === 'running').length
  const inTerm = instances.filter(isInTerm).length
  return (
    <>
      <p>{t('terminate.text', { gb: format.number(gb) })}</p>
      {running > 0 && <p>{t('terminate.running', { count: running })}</p>}
      {inTerm > 0 && <p>{t('terminate.in_term', { count: inTerm })}</p>}
    </>
  )
}

/** What they cost together from today on, and what of that is set aside. */
function StartText({ instances }: { instances: readonly Instance[] }) {
  const { t } = useTranslation(['bulk', 'instances'])
  const format = useFormat()
  const balance = useQuery(balanceQuery)
  const paid = instances.filter(isInTerm).length
  const setups = [...setupsOf(instances.filter(one => !isInTerm(one))).values()]
  const isTooMany = setups.length > SETUPS_PRICED_MAX
  const prices = useQueries({
    queries: isTooMany ? [] : setups.map(({ query }) => queryOf(getPrice, { query })),
  })
  const failed = prices.find(({ error, data }) => error && !data)?.error
  const isKnown = prices.every(({ data }) => data !== undefined)
  const currency = instances[0]?.currency ?? 'USD'
  const sum = sumMicro(
    prices.map(({ data }, at) =>
      String(BigInt(data?.running_micro_per_hour ?? 0) * BigInt(setups[at]?.count ?? 0)),
    ),
  )
  const available = balance.data && spendableCents(balance.data)
  return (
    <>
      <p>{t('start.text')}</p>
      {isTooMany && <p>{t('start.each')}</p>}
      {failed && <p>{failed.message}</p>}
      {!isTooMany && setups.length > 0 && isKnown && (
        <p>
          {t('start.together', {
            rate: format.rate(sum, currency, 'h', true),
            amount: format.money(sum, currency),
          })}
        </p>
      )}
      {!isTooMany && isKnown && available !== undefined && sum > BigInt(available) * MICRO_PER_CENT && (
        <p>
          <strong>{t('start.too_little', { amount: format.cents(available, currency) })}</strong>
        </p>
      )}
      {paid > 0 && <p>{t('start.in_term', { count: paid })}</p>}
    </>
  )
}

/** What is asked for a price, and how many instances it is the price of. */
function setupsOf(instances: readonly Instance[]) {
  const setups = new Map<string, { query: ReturnType<typeof setupOf>; count: number }>()
  for (const one of instances) {
    const query = setupOf(one)
    const key = JSON.stringify(query)
    setups.set(key, { query, count: (setups.get(key)?.count ?? 0) + 1 })
  }
  return setups
}

function setupOf({ kind, region_code, gpu_spec_id, gpu_count, disks }: Instance) {
  return {
    kind,
    billing_type: 'postpay' as const,
    region_code,
    gpu_spec_id,
    gpu_count,
    ...disksAsked({ disks }),
  }
}
