import { CHARGE_CYCLES, type ChargeCycle } from '@berth/contract/charge-terms'
import {
  type BillingPreview,
  convertChargeType,
  previewBilling,
  toggleSubscription,
} from '@berth/contract/instance-terms'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../api/queries.ts'
import { useChange } from '../api/use-change.ts'
import { useOffFor } from '../app/session/use-off-for.ts'
import { useWayTo } from '../app/way-to.ts'
import { Answer } from '../ui/Answer.tsx'
import { ConfirmDialog } from '../ui/ConfirmDialog.tsx'
import { useFormat } from '../ui/format.ts'
import { SegmentedFilter } from '../ui/SegmentedFilter.tsx'
import { toast } from '../ui/toast.ts'
import classes from './BillingDialog.module.css'
import confirm from './ConfirmDialogs.module.css'
import type { InstanceDialogProps } from './instance-dialog.ts'
import { useRefusal } from './use-refusal.ts'
import { useShort } from './use-short.tsx'

const WAYS = ['on_demand', ...CHARGE_CYCLES] as const
type Way = (typeof WAYS)[number]

/**
 * Changes how an instance is paid for (R4.3): from on demand to a term, from a term to another one or on demand. What is
 * taken and given back now stands there before, and is what is confirmed.
 */
export function BillingDialog({ instance, opened, onClose }: InstanceDialogProps) {
  const { t } = useTranslation('terms-of-payment')
  const { instance_id, name, charge_cycle } = instance
  // Decided once: what it is changed from must not change under the hand.
  const [now] = useState<Way>(charge_cycle ?? 'on_demand')
  const [way, setWay] = useState<Way>(now === 'monthly' ? 'weekly' : 'monthly')
  const change = now === 'on_demand' ? 'subscribe' : 'convert'
  const cycle = way === 'on_demand' ? null : way
  const preview = useQuery({
    ...queryOf(previewBilling, {
      params: { id: instance_id },
      query: { change, ...(cycle !== null && { charge_cycle: cycle }) },
    }),
    enabled: opened,
    placeholderData: keepPreviousData,
  })
  const toInstances = useWayTo('/instance-list')
  const whenGone = () => toast.good(t('billing.gone', { name }), { link: toInstances })
  const subscribe = useChange(toggleSubscription, { whenGone })
  const convert = useChange(convertChargeType, { whenGone })
  const offs = { subscribe: useOffFor(toggleSubscription), convert: useOffFor(convertChargeType) }
  const { data } = preview
  const refusal = useRefusal(data?.refused ?? null)
  const short = useShort(preview.isPlaceholderData ? undefined : data)
  const send = async (price_micro: string) => {
    const body = { instance_id, price_micro }
    if (change === 'convert') await convert.send({ body: { ...body, charge_cycle: cycle } })
    else if (cycle !== null) await subscribe.send({ body: { ...body, charge_cycle: cycle } })
  }
  return (
    <ConfirmDialog
      off={offs[change] ?? refusal ?? short}
      opened={opened}
      title={t('billing.title', { name })}
      confirmLabel={t('billing.confirm')}
      disabled={!data || preview.isPlaceholderData}
      onConfirm={() => send(data?.price_micro ?? '')}
      onClose={onClose}
    >
      <div className={confirm.text}>
        <p>{t(change === 'subscribe' ? 'billing.subscribe' : 'billing.convert')}</p>
        <SegmentedFilter
          fill
          label={t('billing.choose')}
          value={way}
          onChange={setWay}
          options={WAYS.filter(one => one !== now).map(one => ({ value: one, label: t(`choice.${one}`) }))}
        />
        <Answer query={preview} data={data} rows={3}>
          {found => (found.refused === null ? <Sums preview={found} cycle={cycle} /> : null)}
        </Answer>
      </div>
    </ConfirmDialog>
  )
}

/** What is taken, given back and set aside, what that comes to, and until when it is paid for. */
function Sums({ preview, cycle }: { preview: BillingPreview; cycle: ChargeCycle | null }) {
  const { t } = useTranslation('terms-of-payment')
  const format = useFormat()
  const { currency, cost_micro, back_micro, reserve_micro, price_micro, expiry_time } = preview
  const takes = BigInt(cost_micro) - BigInt(back_micro)
  return (
    <dl className={classes.sums}>
      {cycle === null ? (
        <div>
          <dt>{t('choice.on_demand')}</dt>
          <dd>{format.rate(price_micro, currency, 'h', true)}</dd>
        </div>
      ) : (
        <div>
          <dt>{t('billing.cost')}</dt>
          <dd>{format.money(cost_micro, currency)}</dd>
        </div>
      )}
      {back_micro !== '0' && (
        <div>
          <dt>{t('billing.back')}</dt>
          <dd>{format.money(back_micro, currency)}</dd>
        </div>
      )}
      {reserve_micro !== '0' && (
        <div>
          <dt>{t('billing.reserve')}</dt>
          <dd>{format.money(reserve_micro, currency)}</dd>
        </div>
      )}
      {expiry_time !== null && (
        <div>
          <dt>{t('billing.until')}</dt>
          <dd>{format.weekdayMoment(expiry_time)}</dd>
        </div>
      )}
      <div className={classes.total}>
        <dt>{t(takes < 0n ? 'billing.total_back' : 'billing.total_take')}</dt>
        <dd>{format.money(takes < 0n ? -takes : takes, currency)}</dd>
      </div>
    </dl>
  )
}
