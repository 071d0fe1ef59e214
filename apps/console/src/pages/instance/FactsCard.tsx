import type { Instance } from '@berth/contract/instances'
import { listVolumes, type VolumeMount } from '@berth/contract/volumes'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { useInstanceTexts } from '../../instances/instance-texts.ts'
import { MachineNotes, StartCommand } from '../../instances/MachineFacts.tsx'
import { Card } from '../../ui/Card.tsx'
import { type Format, useFormat } from '../../ui/format.ts'
import classes from './FactsCard.module.css'

/** What the instance is made of, since when, and what happens to it by itself. */
export function FactsCard({ instance }: { instance: Instance }) {
  const { t } = useTranslation('instance')
  const format = useFormat()
  const texts = useInstanceTexts()
  const { machine, start_command, stop_at, spend_limit_cents, currency } = instance
  return (
    <Card title={t('facts.title')}>
      <dl className={classes.facts}>
        <Fact name={t('facts.machine')}>{texts.machine(instance)}</Fact>
        <Fact name={t('facts.engine')}>{machine?.driver ?? t('facts.no_engine')}</Fact>
        <Fact name={t('facts.region')}>{instance.region_name}</Fact>
        <Fact name={t('facts.image')}>{instance.image_name}</Fact>
        <Fact name={t('facts.billing')}>{billingText(instance)}</Fact>
        <Fact name={t('facts.created')}>{format.weekdayMoment(instance.created_at)}</Fact>
        <When instance={instance} format={format} />
        <Disks instance={instance} />
        {instance.eip && (
          <Fact name={t('facts.public_ip')}>
            <span className="mono">{instance.eip.address}</span>{' '}
            {t(`facts.public_ip_type.${instance.eip.type}`)}
          </Fact>
        )}
        <Fact name={t('facts.stop_at')}>
          {stop_at === null ? t('facts.never') : format.weekdayMoment(stop_at)}
        </Fact>
        <Fact name={t('facts.limit')}>
          {spend_limit_cents === null ? t('facts.no_limit') : format.cents(spend_limit_cents, currency)}
        </Fact>
      </dl>
      {start_command !== '' && (
        <section className={classes.part}>
          <h3>{t('facts.command')}</h3>
          <StartCommand instance={instance} />
        </section>
      )}
      {machine && (
        <details className={classes.part}>
          <summary>{t('facts.notes')}</summary>
          <MachineNotes machine={machine} />
        </details>
      )}
    </Card>
  )

  function billingText({ billing_type, charge_cycle, expiry_time, auto_renew }: Instance): string {
    if (billing_type === 'postpay' || charge_cycle === null) return t('facts.on_demand')
    const cycle = t(`facts.cycle.${charge_cycle}`)
    if (expiry_time === null) return cycle
    const date = format.date(expiry_time)
    return t(auto_renew ? 'facts.renews' : 'facts.ends', { cycle, date })
  }
}

function When({ instance, format }: { instance: Instance; format: Format }) {
  const { t } = useTranslation('instance')
  const { status, ready_at, stopped_at, deleted_on } = instance
  if (status === 'running' && ready_at !== null)
    return <Fact name={t('facts.ready')}>{format.weekdayMoment(ready_at)}</Fact>
  if (stopped_at === null) return null
  return (
    <>
      <Fact name={t('facts.stopped')}>{format.weekdayMoment(stopped_at)}</Fact>
      {deleted_on !== null && <Fact name={t('facts.deleted')}>{format.date(deleted_on)}</Fact>}
    </>
  )
}

function Disks({ instance: { disks } }: { instance: Instance }) {
  const { t } = useTranslation('instance')
  const { free_gb: free, data_path, pod_volume_path } = disks
  const paths = { container: '', system: '', data: data_path ?? '', pod_volume: pod_volume_path ?? '' }
  const sizes = (['container', 'system', 'data', 'pod_volume'] as const)
    .map(kind => ({ kind, gb: disks[`${kind}_gb`], path: paths[kind] }))
    .filter(({ gb }) => gb > 0)
  return (
    <Fact name={t('facts.disks')}>
      {sizes.map(({ kind, gb, path }) => (
        <span key={kind} className={classes.disk}>
          {t(`facts.disk.${kind}`, { gb, free, path })}
        </span>
      ))}
      {disks.network_volume && <NetworkVolume mount={disks.network_volume} />}
    </Fact>
  )
}

/** The network volume by its name; by its id where its name is not known. */
function NetworkVolume({ mount: { id, path } }: { mount: VolumeMount }) {
  const { t } = useTranslation('instance')
  const { data, isPending } = useQuery(queryOf(listVolumes, { query: {} }))
  if (isPending) return null
  const name = data?.find(volume => volume.id === id)?.name ?? id
  return <span className={classes.disk}>{t('facts.disk.network_volume', { name, path })}</span>
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
