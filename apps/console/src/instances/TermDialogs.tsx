import { previewBilling, renewInstance, toggleRenewal } from '@berth/contract/instance-terms'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../api/queries.ts'
import { useChange } from '../api/use-change.ts'
import { useOffFor } from '../app/session/use-off-for.ts'
import { useWayTo } from '../app/way-to.ts'
import { Answer } from '../ui/Answer.tsx'
import { ConfirmDialog } from '../ui/ConfirmDialog.tsx'
import { useFormat } from '../ui/format.ts'
import { toast } from '../ui/toast.ts'
import classes from './ConfirmDialogs.module.css'
import type { InstanceDialogProps } from './instance-dialog.ts'
import { useRefusal } from './use-refusal.ts'
import { useShort } from './use-short.tsx'

/** Asks before the next term is bought: until when it is paid for then, and for how much (R4.3). */
export function RenewDialog({ instance, opened, onClose }: InstanceDialogProps) {
  const { t } = useTranslation('terms-of-payment')
  const format = useFormat()
  const { instance_id, name } = instance
  const toInstances = useWayTo('/instance-list')
  const renew = useChange(renewInstance, {
    whenGone: () => toast.good(t('renew.gone', { name }), { link: toInstances }),
  })
  const preview = useQuery({
    ...queryOf(previewBilling, { params: { id: instance_id }, query: { change: 'renew' } }),
    enabled: opened,
  })
  const refusal = useRefusal(preview.data?.refused ?? null)
  const short = useShort(preview.data)
  const off = useOffFor(renewInstance)
  const price_micro = preview.data?.price_micro ?? ''
  return (
    <ConfirmDialog
      off={off ?? refusal ?? short}
      opened={opened}
      title={t('renew.title', { name })}
      confirmLabel={t('actions.renew')}
      disabled={price_micro === ''}
      onConfirm={() => renew.send({ body: { instance_id, price_micro } })}
      onClose={onClose}
    >
      <div className={classes.text}>
        <Answer query={preview} data={preview.data} rows={2}>
          {({ expiry_time, cost_micro, currency, refused }) =>
            refused === null && expiry_time !== null ? (
              <>
                <p>{t('renew.text', { date: format.weekdayMoment(expiry_time) })}</p>
                <p>{t('renew.price', { amount: format.money(cost_micro, currency) })}</p>
              </>
            ) : null
          }
        </Answer>
      </div>
    </ConfirmDialog>
  )
}

/** Asks before the renewal is cancelled, or turned on again: what then becomes of the instance (R4.3). */
export function RenewalDialog({ instance, opened, onClose }: InstanceDialogProps) {
  const { t } = useTranslation('terms-of-payment')
  const format = useFormat()
  const { instance_id, name, auto_renew, expiry_time, term_micro, currency } = instance
  const toggle = useChange(toggleRenewal)
  const date = expiry_time === null ? '' : format.weekdayMoment(expiry_time)
  const amount = format.money(term_micro ?? '0', currency)
  const cancelText = expiry_time === null ? t('cancel.not_begun') : t('cancel.text', { date })
  return (
    <ConfirmDialog
      danger={auto_renew}
      off={useOffFor(toggleRenewal)}
      opened={opened}
      title={t(auto_renew ? 'cancel.title' : 'keep.title', { name })}
      confirmLabel={t(auto_renew ? 'actions.renewal_off' : 'actions.renewal_on')}
      onConfirm={() => toggle.send({ body: { instance_id, auto_renew: !auto_renew } })}
      onClose={onClose}
    >
      <div className={classes.text}>
        <p>{auto_renew ? cancelText : t('keep.text', { date, amount })}</p>
      </div>
    </ConfirmDialog>
  )
}
