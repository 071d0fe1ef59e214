import { spendableCents } from '@berth/contract/billing'
import type { Instance } from '@berth/contract/instances'
import { microFromCents } from '@berth/contract/money'
import { bindPublicIp, getPublicIpPrice, unbindPublicIp } from '@berth/contract/public-ip-calls'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { balanceQuery, queryOf } from '../api/queries.ts'
import { useChange } from '../api/use-change.ts'
import { useOffFor } from '../app/session/use-off-for.ts'
import { useWayTo } from '../app/way-to.ts'
import { Answer } from '../ui/Answer.tsx'
import { ConfirmDialog } from '../ui/ConfirmDialog.tsx'
import { useFormat } from '../ui/format.ts'
import { toast } from '../ui/toast.ts'
import classes from './ConfirmDialogs.module.css'
import type { InstanceDialogProps } from './instance-dialog.ts'

/** Asks before an instance gets an address of its own: what it costs, from when to when, and what changes (R2.25). */
export function BindPublicIpDialog({ instance, opened, onClose }: InstanceDialogProps) {
  const { t } = useTranslation(['public-ip', 'errors'])
  const format = useFormat()
  const { instance_id, name, region_code, eip, billing_type } = instance
  const toInstances = useWayTo('/instance-list')
  const bind = useChange(bindPublicIp, {
    whenGone: () => toast.good(t('bind.gone', { name }), { link: toInstances }),
  })
  const price = useQuery({ ...queryOf(getPublicIpPrice, { query: { region_code } }), enabled: opened })
  const { data: balance } = useQuery(balanceQuery)
  const off = useOffFor(bindPublicIp)
  const { data } = price
  const isNone = data?.available === 0
  const available = balance && microFromCents(spendableCents(balance))
  const isShort = data && available !== undefined && available < BigInt(data.rate_micro_per_hour)
  const price_micro = data?.rate_micro_per_hour ?? ''
  return (
    <ConfirmDialog
      off={off ?? (isNone ? t('errors:public_ip_sold_out') : isShort ? t('bind.short') : null)}
      opened={opened}
      title={t('bind.title', { name })}
      confirmLabel={t('bind.confirm')}
      disabled={!data}
      onConfirm={() => bind.send({ body: { region_code, instance_id, price_micro } })}
      onClose={onClose}
    >
      <div className={classes.text}>
        <p>{t('bind.text', { ports: portsText(instance) })}</p>
        {eip?.type === 'shared' && <p>{t('bind.shared_ends', { address: eip.address })}</p>}
        <Answer query={price} data={data} rows={2}>
          {({ rate_micro_per_hour, currency, available: count }) => {
            const rate = format.rate(rate_micro_per_hour, currency, 'h', true)
            return (
              <>
                <p>{t(billing_type === 'prepay' ? 'bind.price_prepaid' : 'bind.price', { rate })}</p>
                <p>
                  {t('bind.reserve', { amount: format.money(rate_micro_per_hour, currency) })}{' '}
                  {count > 0 && t('choice.free', { count })}
                </p>
              </>
            )
          }}
        </Answer>
      </div>
    </ConfirmDialog>
  )
}

/** Asks before an instance's address is given back, which others may get then (R2.25). */
export function UnbindPublicIpDialog({ instance, opened, onClose }: InstanceDialogProps) {
  const { t } = useTranslation('public-ip')
  const { name, eip } = instance
  const unbind = useChange(unbindPublicIp)
  return (
    <ConfirmDialog
      danger
      off={useOffFor(unbindPublicIp)}
      opened={opened}
      title={t('unbind.title', { name })}
      confirmLabel={t('unbind.confirm')}
      disabled={!eip?.id}
      onConfirm={() => unbind.send({ params: { id: eip?.id ?? '' } })}
      onClose={onClose}
    >
      <div className={classes.text}>
        <p>{t('unbind.text', { address: eip?.address ?? '' })}</p>
        <p>{t('unbind.after')}</p>
      </div>
    </ConfirmDialog>
  )
}

/** `22 TCP, 53 UDP` */
function portsText({ tcp_ports, udp_ports }: Instance): string {
  return [...tcp_ports.map(port => `${port} TCP`), ...udp_ports.map(port => `${port} UDP`)].join(', ')
}
