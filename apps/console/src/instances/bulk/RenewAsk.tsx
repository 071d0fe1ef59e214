import { spendableCents } from '@berth/contract/billing'
import { type BillingPreview, previewBilling, renewInstance } from '@berth/contract/instance-terms'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import type { ApiError } from '../../api/api-error.ts'
import { balanceQuery } from '../../api/queries.ts'
import { type Read, readMany } from '../../api/read-many.ts'
import { useOffFor } from '../../app/session/use-off-for.ts'
import { BulkConfirm } from '../../lists/BulkConfirm.tsx'
import { Answer } from '../../ui/Answer.tsx'
import { useFormat } from '../../ui/format.ts'
import { useRefusals } from '../use-refusal.ts'
import { MICRO_PER_CENT, sumMicro } from './bulk-plan.ts'
import { type AskProps, itemOf } from './bulk-question.ts'
import { useBulkWords } from './use-bulk-words.ts'

/** Renewals that are bought together: each is priced before and paid by itself. */
const RENEWALS_MAX = 500

/**
 * Asks before the next terms of many instances are bought: what each costs, until when it is paid for then, and what all
 * cost together (R4.3). Each is confirmed with the price that stood there.
 */
export function RenewAsk({ question, onConfirm, onCancel }: AskProps) {
  const { able, unable } = question
  const { t } = useTranslation('bulk')
  const format = useFormat()
  const words = useBulkWords()
  const refusals = useRefusals()
  const off = useOffFor(renewInstance)
  const balance = useQuery(balanceQuery)
  const isTooMany = able.length > RENEWALS_MAX
  const ids = able.map(({ instance_id }) => instance_id)
  const previews = useQuery<Read<BillingPreview>[], ApiError>({
    queryKey: [previewBilling.operation, { change: 'renew', ids }],
    queryFn: ({ signal }) =>
      readMany(
        previewBilling,
        ids.map(id => ({ key: id, input: { params: { id }, query: { change: 'renew' } } })),
        signal,
      ),
    enabled: !isTooMany,
    // What is confirmed is what stands there: it changes only when it is asked anew.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    meta: { silent: true },
  })
  const found = new Map(previews.data?.map(read => [read.key, read]))
  const priced = able.flatMap(one => {
    const read = found.get(one.instance_id)
    return read && 'data' in read && read.data.refused === null ? [{ one, preview: read.data }] : []
  })
  const refused = able.flatMap(one => {
    const read = found.get(one.instance_id)
    if (!read) return []
    if ('error' in read) return { ...itemOf(one), second: read.error.message }
    return read.data.refused === null ? [] : { ...itemOf(one), second: refusals(read.data.refused) }
  })
  const isKnown = previews.data !== undefined
  const sum = sumMicro(priced.map(({ preview }) => preview.cost_micro))
  const available = balance.data && spendableCents(balance.data)
  const currency = priced[0]?.preview.currency ?? 'USD'
  return (
    <BulkConfirm
      items={
        isKnown
          ? priced.map(({ one, preview: { cost_micro, expiry_time } }) => ({
              ...itemOf(one),
              second: t('renew.each', {
                amount: format.money(cost_micro, currency),
                date: expiry_time === null ? '' : format.weekdayMoment(expiry_time),
              }),
            }))
          : able.map(one => ({ ...itemOf(one), second: one.region_name }))
      }
      leftOut={[
        ...unable.map(one => ({ ...itemOf(one), second: words.whyNot('renew', one) ?? '' })),
        ...refused,
      ]}
      confirmLabel={`${words.label('renew')} ${isKnown ? priced.length : able.length}`}
      off={off ?? offFor()}
      waits={!isKnown}
      onConfirm={() => onConfirm(priced.map(({ one, preview }) => itemOf(one, preview.price_micro)))}
      onCancel={onCancel}
    >
      <p>{t('renew.text')}</p>
      {!isTooMany && (
        <Answer query={previews} data={previews.data} rows={2}>
          {() => <p>{t('renew.together', { amount: format.money(sum, currency) })}</p>}
        </Answer>
      )}
      {available !== undefined && sum > BigInt(available) * MICRO_PER_CENT && (
        <p>
          <strong>{t('start.too_little', { amount: format.cents(available, currency) })}</strong>
        </p>
      )}
    </BulkConfirm>
  )

  function offFor(): string | null {
    if (isTooMany) return t('renew.over_max', { max: format.number(RENEWALS_MAX) })
    return isKnown && priced.length === 0 ? t('renew.none') : null
  }
}
