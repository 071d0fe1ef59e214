import { getPrice, type Instance, startInstance } from '@berth/contract/instances'
import { type GpuSpec, listGpuSpecs } from '@berth/contract/regions'
import { Input, Select } from '@mantine/core'
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
import classes from './ConfirmDialogs.module.css'
import { disksAsked } from './disks-asked.ts'
import { isInTerm } from './in-term.ts'
import type { InstanceDialogProps } from './instance-dialog.ts'
import { useInstanceTexts } from './instance-texts.ts'

/** What an instance is to be started on. */
interface Machine {
  gpu_spec_id: string
  gpu_count: number
}

/** Asks before an instance starts (R2.24): on what, which may be another machine than before (R4.5), at today's price. */
export function StartDialog({ instance, opened, onClose }: InstanceDialogProps) {
  const { t } = useTranslation('instances')
  const { instance_id, name } = instance
  const isPaid = isInTerm(instance)
  const [machine, setMachine] = useState<Machine>(instance)
  const toInstances = useWayTo('/instance-list')
  const start = useChange(startInstance, {
    whenGone: () => toast.good(t('confirm.start.gone', { name }), { link: toInstances }),
  })
  const offers = useQuery({
    ...queryOf(listGpuSpecs, { body: { region_codes: [instance.region_code] } }),
    enabled: opened && !isPaid,
  })
  const { gpu_spec_id, gpu_count } = machine
  const offer = offers.data?.find(({ id }) => id === gpu_spec_id)
  const isThere = offer !== undefined && offer.available >= gpu_count && offer.counts.includes(gpu_count)
  return (
    <ConfirmDialog
      off={useOffFor(startInstance)}
      opened={opened}
      title={t('confirm.start.title', { name })}
      confirmLabel={t('actions.start')}
      // What is paid for in advance keeps its place.
      disabled={!isThere && !isPaid}
      onConfirm={() => start.send({ body: { instance_id, gpu_count, gpu_spec_id } })}
      onClose={onClose}
    >
      <div className={classes.text}>
        {isPaid ? (
          <PaidNote instance={instance} />
        ) : (
          <Answer query={offers} data={offers.data} rows={2}>
            {specs => (
              <MachineFields
                specs={specs}
                currency={instance.currency}
                chosen={machine}
                onChoose={setMachine}
              />
            )}
          </Answer>
        )}
        {offers.data && !isThere && <p>{t('confirm.start.not_there', { region: instance.region_name })}</p>}
        {isThere && <StartPrice instance={instance} machine={machine} />}
        {offer?.simulated && <p>{t('machine.simulated_hint')}</p>}
      </div>
    </ConfirmDialog>
  )
}

/** Which of the region's machines, and how many of them; what is not there is shown, and cannot be chosen. */
function MachineFields({
  specs,
  currency,
  chosen,
  onChoose,
}: {
  specs: readonly GpuSpec[]
  currency: string
  chosen: Machine
  onChoose: (machine: Machine) => void
}) {
  const { t } = useTranslation('instances')
  const format = useFormat()
  const spec = specs.find(({ id }) => id === chosen.gpu_spec_id)
  const countLabel = t(spec?.gpu === false ? 'confirm.start.machines' : 'confirm.start.gpus')
  return (
    <>
      <Select
        label={t('confirm.start.machine')}
        allowDeselect={false}
        value={spec?.id ?? null}
        data={specs.map(({ id, name, available, price_micro_per_hour }) => ({
          value: id,
          label: t(available === 0 ? 'confirm.start.none_free' : 'confirm.start.free', {
            name,
            rate: format.rate(price_micro_per_hour, currency, 'h'),
            count: available,
          }),
          disabled: available === 0,
        }))}
        onChange={id => {
          const next = specs.find(one => one.id === id)
          if (next) onChoose({ gpu_spec_id: next.id, gpu_count: countOf(next, chosen.gpu_count) })
        }}
      />
      {spec && spec.counts.length > 1 && (
        <Input.Wrapper labelElement="div" label={countLabel} labelProps={{ 'aria-hidden': true }}>
          <SegmentedFilter
            label={countLabel}
            value={String(chosen.gpu_count)}
            onChange={count => onChoose({ ...chosen, gpu_count: Number(count) })}
            options={spec.counts.map(count => ({
              value: String(count),
              label: String(count),
              disabled: count > spec.available,
            }))}
          />
        </Input.Wrapper>
      )}
    </>
  )
}

/** It is paid for already, as the machine that it was. */
function PaidNote({ instance }: { instance: Instance }) {
  const { t } = useTranslation('terms-of-payment')
  const format = useFormat()
  const { machine } = useInstanceTexts()
  const values = { machine: machine(instance), date: format.weekdayMoment(instance.expiry_time ?? '') }
  return <p>{t('start.paid', values)}</p>
}

/** As many as before where they are to be had. */
function countOf({ counts, available }: GpuSpec, before: number): number {
  const free = counts.filter(count => count <= available)
  return free.includes(before) ? before : (free[0] ?? counts[0] ?? 1)
}

/** What it costs from today on, and what of that is set aside. */
function StartPrice({ instance, machine }: { instance: Instance; machine: Machine }) {
  const { t } = useTranslation(['instances', 'terms-of-payment'])
  const format = useFormat()
  const price = useQuery({
    ...queryOf(getPrice, {
      query: {
        ...machine,
        kind: instance.kind,
        billing_type: 'postpay',
        region_code: instance.region_code,
        ...disksAsked(instance),
      },
    }),
    placeholderData: keepPreviousData,
  })
  return (
    <Answer query={price} data={price.data} rows={2}>
      {({ currency, running_micro_per_hour, terms }) => {
        const term = terms.find(({ charge_cycle }) => charge_cycle === instance.charge_cycle)
        if (term) {
          const amount = format.money(term.price_micro, currency)
          return <p>{t('terms-of-payment:start.reserve', { amount })}</p>
        }
        return (
          <>
            <p>
              {t('confirm.start.text', { rate: format.rate(running_micro_per_hour, currency, 'h', true) })}
            </p>
            <p>{t('confirm.start.reserve', { amount: format.money(running_micro_per_hour, currency) })}</p>
          </>
        )
      }}
    </Answer>
  )
}
