import type { Transaction } from '@berth/contract/billing'
import { useCallback } from 'react'
import { useTranslation } from 'react-i18next'
import { bytesText } from '../ui/bytes.ts'
import { useFormat } from '../ui/format.ts'
import { useCardText } from './card-text.ts'

/** The reasons for which credits are given; any other reads as plain credits. */
const CREDIT_REASONS = ['demo', 'outage'] as const

/** What a transaction comes to by now: of usage also what is due and not posted yet, which happens once an hour. */
export function amountSoFar(row: Transaction): string {
  if (row.type !== 'usage') return row.amount_micro
  return (BigInt(row.amount_micro) + BigInt(row.pending_amount_micro)).toString()
}

/**
 * Words for a transaction: what it is, then how it came about.
 * @returns A function of the transaction, in the interface's language.
 */
export function useTransactionText(): (row: Transaction) => { title: string; second: string } {
  const { t } = useTranslation(['payments', 'errors', 'terms-of-payment'])
  const format = useFormat()
  const cardText = useCardText()
  return useCallback(
    row => {
      const { about } = row
      if (row.type === 'topup') {
        const failure = about.failure ? t(`errors:${about.failure as 'card_declined'}`) : ''
        return {
          title: t(about.origin === 'auto' ? 'text.auto_topup' : 'text.topup', {
            source: cardText(about.card),
          }),
          second: row.status === 'failed' ? failure : t(`text.topup_second.${about.waits_for ?? 'settled'}`),
        }
      }
      if (row.type === 'refund') {
        const owed = row.pending_amount_micro.replace('-', '')
        const amount = format.money(owed, row.currency)
        const kind = about.refund_reason ?? 'refund'
        const title = t(`text.${kind}`, { source: cardText(about.card) })
        if (row.status === 'failed') return { title, second: t(`text.${kind}_failed`) }
        return {
          title,
          second: owed === '0' ? t(`text.${kind}_second`) : t(`text.${kind}_owed`, { amount }),
        }
      }
      if (row.type === 'credit') {
        if (row.amount_micro.startsWith('-')) {
          return { title: t('text.credit_ended'), second: t('text.credit_ended_second') }
        }
        if (row.coupon_amount_micro !== '0') {
          const title = t('text.credit_coupon', { code: about.credit_reason ?? '' })
          return { title, second: t('text.credit_second') }
        }
        const reason = CREDIT_REASONS.find(known => known === about.credit_reason)
        return {
          title: reason
            ? t(`text.credit_reasons.${reason}`, { name: about.instance_name ?? '' })
            : t('text.credit'),
          second: t('text.credit_second'),
        }
      }
      const values = {
        name: about.instance_name ?? about.volume_name ?? about.image_name ?? about.model_name ?? '',
        count: about.gpu_count ?? 0,
        spec: about.gpu_spec_name ?? '',
      }
      if (about.charge_cycle !== null) {
        return {
          title: t(`terms-of-payment:transaction.${about.charge_cycle}`, values),
          second: t('terms-of-payment:transaction.second', { days: format.duration(about.seconds ?? 0) }),
        }
      }
      const titles = {
        compute: t('text.compute', values),
        disk: t('text.disk', values),
        volume: t('text.volume', values),
        snapshot: t('text.snapshot', values),
        image: t('text.image', values),
        traffic: t('text.traffic', values),
        model: t('text.model', values),
        public_ip: t('text.public_ip', { name: values.name, address: about.address ?? '' }),
      }
      if (about.sent_bytes !== null) {
        return {
          title: titles.traffic,
          second: t('text.traffic_second', { size: bytesText(about.sent_bytes) }),
        }
      }
      if (about.tokens !== null) {
        return { title: titles.model, second: t('text.tokens', { tokens: format.number(about.tokens) }) }
      }
      const span = format.duration(about.seconds ?? 0, true)
      const rate = format.rate(about.rate_micro_per_hour ?? '0', row.currency, 'h', true)
      return {
        title: titles[about.usage ?? 'compute'],
        second: t(row.status === 'pending' ? 'text.usage_running' : 'text.usage', { span, rate }),
      }
    },
    [t, format, cardText],
  )
}
