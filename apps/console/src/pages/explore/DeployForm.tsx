import type { DeploySetup } from '@berth/contract/deploy-templates'
import type { FieldRule } from '@berth/contract/errors'
import type { Image } from '@berth/contract/images'
import {
  COMMAND_END_RULES,
  type CommandEndRule,
  deployBody,
  deployInstance,
  diskFaults,
  instanceName,
  ports,
} from '@berth/contract/instances'
import { CURRENCIES, SYSTEM_DISK_FREE_GB } from '@berth/contract/limits'
import { PUBLIC_IP_TYPES, type PublicIpType } from '@berth/contract/public-ip'
import type { Region } from '@berth/contract/regions'
import { Select, TextInput } from '@mantine/core'
import { useCallback, useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { useChange } from '../../api/use-change.ts'
import { useWayTo } from '../../app/way-to.ts'
import { type EnvRow, envRows, secretNames } from '../../machine-form/env/env-rows.ts'
import { useDirectPorts } from '../../machine-form/use-direct-ports.ts'
import { type SpecOffer, stockLevel } from '../../offers/offers.ts'
import { Card } from '../../ui/Card.tsx'
import { portsFromText, portsToText } from '../../ui/ports-text.ts'
import { SegmentedFilter } from '../../ui/SegmentedFilter.tsx'
import { NO_STOP_RULES, stopRuleFields } from '../../ui/stop-rules.ts'
import { toast } from '../../ui/toast.ts'
import { useContractForm } from '../../ui/use-contract-form.ts'
import { billingOf, ON_DEMAND, payingOf, termOf } from './BillingChoice.tsx'
import { useCheckText } from './check-text.ts'
import { DeployFolds } from './DeployFolds.tsx'
import classes from './DeployForm.module.css'
import { ImageChoice } from './image/ImageChoice.tsx'
import { PriceCard } from './PriceCard.tsx'
import { RepeatParts } from './repeat/RepeatParts.tsx'
import { setupValues } from './repeat/setup-values.ts'
import { NO_OWN_DISK, type StorageValues } from './StorageFold.tsx'
import { useQuote } from './use-quote.ts'
import { NO_VOLUME, useVolumesIn, volumeField } from './VolumeFields.tsx'
import { WatchPart } from './watch/WatchPart.tsx'

interface DeployFormProps {
  offer: SpecOffer
  regions: readonly Region[]
  /** Official ones, the community's and the customer's own. */
  images: readonly Image[]
  /** The image that the form begins with; left out or unknown: an official one. */
  imageId?: string
  /** A deploy that is repeated; null for a form of its own. */
  setup?: DeploySetup | null
  /** Called when the gateway has accepted the deploy. */
  onDeployed: (id: string, name: string) => void
}

/** The machine around the chosen spec, and beside it what it costs. */
export function DeployForm({
  offer,
  regions,
  images,
  imageId = '',
  setup = null,
  onDeployed,
}: DeployFormProps) {
  const { t } = useTranslation('explore')
  const toInstances = useWayTo('/instance-list')
  const deploy = useChange(deployInstance, {
    silent: true,
    behind: true,
    whenGone: (_, { body }) =>
      toast.good(t('deployed_meanwhile', { name: body.name }), { link: toInstances }),
  })
  // An image’s own ports are not asked for where nobody reaches them.
  const isReached = useDirectPorts()
  const tcpOf = (image: Image | undefined) => portsToText(isReached ? (image?.tcp_ports ?? []) : [])
  const [billing, setBilling] = useState(setup ? billingOf(setup) : ON_DEMAND)
  const firstImage =
    images.find(({ id }) => id === imageId) ?? images.find(image => image.available) ?? images[0]
  const kindOf = (imageId: string | null) => images.find(({ id }) => id === imageId)?.kind ?? 'POD'
  const { form, submit, check, busy, failure } = useContractForm({
    schema: formSchema,
    initialValues: {
      name: '',
      gpu_count: 1,
      region_code: offer.places[0]?.region_code ?? '',
      image_id: (firstImage?.id ?? '') as string | null,
      image_reference: null as string | null,
      registry_credential_id: null as string | null,
      container_disk_gb: Math.max(SYSTEM_DISK_FREE_GB, firstImage?.min_disk_gb ?? 0) as number | string,
      ...(NO_OWN_DISK as Omit<StorageValues, 'container_disk_gb' | 'network_volume'>),
      http_ports: portsToText(firstImage?.http_ports ?? []),
      tcp_ports: tcpOf(firstImage),
      udp_ports: '',
      public_ip: PUBLIC_IP_TYPES[0] as PublicIpType,
      start_command: firstImage?.start_command ?? '',
      on_command_end: COMMAND_END_RULES[0] as CommandEndRule,
      env: [] as EnvRow[],
      network_volume: NO_VOLUME,
      ssh_key_ids: null as string[] | null,
      ...NO_STOP_RULES,
      ...(setup && setupValues(setup)),
    },
    onSubmit: async values => {
      const done = await deploy.send({ body: bodyOf(values) })
      onDeployed(done.instance_id, values.name)
    },
  })
  const { values, setFieldValue } = form
  const bodyOf = (checked: z.output<typeof formSchema>) => ({
    ...checked,
    ...paid,
    secret_env: secretNames(form.getValues().env),
    kind: kindOf(checked.image_id),
    // Of the other kind's disk, nothing is shown.
    ...(kindOf(checked.image_id) === 'POD' ? { data_disk_gb: null } : { pod_volume_gb: null }),
    gpu_spec_id: offer.id,
  })

  // Another spec may not be had in the region or in the number that was chosen for the one before.
  useEffect(() => {
    if (!offer.places.some(place => place.region_code === values.region_code)) {
      setFieldValue('region_code', offer.places[0]?.region_code ?? '')
    }
    if (!offer.counts.includes(values.gpu_count)) setFieldValue('gpu_count', offer.counts[0] ?? 1)
  }, [offer, values.region_code, values.gpu_count, setFieldValue])

  const chooseKeys = useCallback((ids: string[] | null) => setFieldValue('ssh_key_ids', ids), [setFieldValue])
  const dropVolume = useCallback(() => setFieldValue('network_volume', NO_VOLUME), [setFieldValue])
  const volume = useVolumesIn(values.region_code)?.find(({ id }) => id === values.network_volume.id)
  const chooseImage = (image: Image) => {
    setFieldValue('image_id', image.id)
    setFieldValue('http_ports', portsToText(image.http_ports))
    setFieldValue('tcp_ports', tcpOf(image))
    if (Number(values.container_disk_gb) < image.min_disk_gb)
      setFieldValue('container_disk_gb', image.min_disk_gb)
    // What was typed is not the image's to replace.
    const before = images.find(({ id }) => id === values.image_id)?.start_command ?? ''
    if (values.start_command === before || values.start_command === '')
      setFieldValue('start_command', image.start_command)
    setFieldValue(image.kind === 'VM' ? 'pod_volume_gb' : 'data_disk_gb', '')
  }
  const quote = useQuote({
    kind: kindOf(values.image_id),
    ...payingOf(billing),
    region_code: values.region_code,
    gpu_spec_id: offer.id,
    gpu_count: values.gpu_count,
    image_id: values.image_id,
    image_reference: values.image_reference,
    registry_credential_id: values.registry_credential_id,
    container_disk_gb: Number(values.container_disk_gb),
    data_disk_gb: kindOf(values.image_id) === 'VM' ? gbOf(values.data_disk_gb) : null,
    pod_volume_gb: kindOf(values.image_id) === 'POD' ? gbOf(values.pod_volume_gb) : null,
    public_ip: values.public_ip,
    network_volume_id: (kindOf(values.image_id) === 'POD' && values.network_volume.id) || null,
    http_ports: portsFromText(values.http_ports),
    tcp_ports: portsFromText(values.tcp_ports),
    udp_ports: portsFromText(values.udp_ports),
  })
  const checkText = useCheckText(
    quote.price.data?.currency ?? CURRENCIES[0],
    payingOf(billing).charge_cycle !== null,
  )
  /** What is wrong with a field, as the form says it or, before that, the last check. */
  const fieldOf = (path: string) => {
    const field = form.getInputProps(path)
    const fault = quote.faultAt(path)
    return fault ? { ...field, error: field.error ?? checkText(fault) } : field
  }
  const paid = {
    ...payingOf(billing),
    auto_renew: billing.autoRenew,
    // What was shown is what may be taken.
    price_micro: (quote.price.data && termOf(quote.price.data, billing)?.price_micro) ?? null,
  }
  const stockOf = (region: string) =>
    offer.places.find(({ region_code }) => region_code === region)?.available ?? 0
  const nameOf = (region: string) => regions.find(({ code }) => code === region)?.name ?? region
  const read = (element: HTMLFormElement | null) => {
    const checked = check(element)
    return checked && bodyOf(checked)
  }
  const countLabel = offer.gpu ? t('form.gpus') : t('form.machines')
  const places = offer.places.map(place => ({
    value: place.region_code,
    label: t('form.region_stock', {
      region: nameOf(place.region_code),
      stock: t(`stock.${stockLevel(place)}`, { count: place.available }),
    }),
  }))
  const isSoldOut = offer.places.some(place => place.region_code === values.region_code && isGone(place))

  return (
    <form onSubmit={submit} noValidate className={classes.form}>
      <div className={classes.fields}>
        <Card padding="none">
          <div className={classes.grid}>
            <TextInput
              label={t('form.name')}
              placeholder={t('form.name_placeholder')}
              autoComplete="off"
              spellCheck={false}
              maxLength={80}
              {...form.getInputProps('name')}
            />
            <Select
              label={t('form.region')}
              allowDeselect={false}
              data={places}
              {...form.getInputProps('region_code')}
            />
            <div>
              <span className={classes.label} aria-hidden="true">
                {countLabel}
              </span>
              <SegmentedFilter
                label={countLabel}
                value={String(values.gpu_count)}
                onChange={count => setFieldValue('gpu_count', Number(count))}
                options={offer.counts.map(count => ({
                  value: String(count),
                  label: String(count),
                  disabled: !isSoldOut && count > stockOf(values.region_code),
                }))}
              />
            </div>
            <div className={classes.wide}>
              <ImageChoice
                images={images}
                vramGb={offer.vramGb}
                values={values}
                fieldOf={path => form.getInputProps(path)}
                fault={quote.imageFault}
                onChoose={chooseImage}
                onChange={changes => {
                  form.setValues(changes)
                  for (const path of Object.keys(changes)) form.clearFieldError(path)
                }}
              />
            </div>
          </div>
          <DeployFolds
            kind={kindOf(values.image_id)}
            region={{ code: values.region_code, name: nameOf(values.region_code) }}
            onVolumeGone={dropVolume}
            values={values}
            fieldOf={fieldOf}
            errorAt={path => form.errors[path]}
            onEnv={rows => {
              setFieldValue('env', rows)
              for (const path of Object.keys(form.errors)) {
                if (path.startsWith('env.')) form.clearFieldError(path)
              }
            }}
            onKeys={chooseKeys}
            diskRate={quote.diskRate}
            addressRate={quote.addressRate}
            currency={quote.price.data?.currency ?? CURRENCIES[0]}
          />
        </Card>
      </div>
      <div className={classes.side}>
        <PriceCard
          quote={quote}
          billing={billing}
          volumeName={volume?.name ?? null}
          onBilling={setBilling}
          busy={busy}
          failure={failure}
        />
        {isSoldOut && (
          <WatchPart
            offer={{
              name: `${values.gpu_count} × ${offer.name}`,
              region: nameOf(values.region_code),
              region_code: values.region_code,
              gpu_spec_id: offer.id,
              gpu_count: values.gpu_count,
              microPerHour: quote.price.data?.running_micro_per_hour ?? null,
              currency: quote.price.data?.currency ?? CURRENCIES[0],
            }}
            read={read}
          />
        )}
        <RepeatParts read={read} />
      </div>
    </form>
  )
}

/** Whether it is known that a region has none of it. */
function isGone(place: SpecOffer['places'][number]): boolean {
  return stockLevel(place) === 'sold_out'
}

/** A size as the form holds it; null where none is. */
const gbOf = (typed: number | string) => (typed === '' ? null : Number(typed))

const ownDiskField = z.union([z.number(), z.string()]).transform(gbOf)

/** What the form holds: ports and variables as text, which meet the call's own rules (R5.4, R5.5). */
const formFields = z.object({
  name: instanceName,
  gpu_count: deployBody.shape.gpu_count,
  region_code: deployBody.shape.region_code,
  image_id: deployBody.shape.image_id.unwrap(),
  image_reference: deployBody.shape.image_reference.unwrap(),
  registry_credential_id: deployBody.shape.registry_credential_id.unwrap(),
  container_disk_gb: z
    .union([z.number(), z.string()])
    .transform(value => (value === '' ? Number.NaN : Number(value)))
    .pipe(deployBody.shape.container_disk_gb),
  data_disk_gb: ownDiskField.pipe(deployBody.shape.data_disk_gb.unwrap()),
  pod_volume_gb: ownDiskField.pipe(deployBody.shape.pod_volume_gb.unwrap()),
  pod_volume_path: deployBody.shape.pod_volume_path.unwrap(),
  http_ports: z.string().transform(portsFromText).pipe(ports),
  tcp_ports: z.string().transform(portsFromText).pipe(ports),
  udp_ports: z.string().transform(portsFromText).pipe(ports),
  public_ip: deployBody.shape.public_ip.unwrap(),
  start_command: deployBody.shape.start_command.unwrap(),
  on_command_end: deployBody.shape.on_command_end.unwrap(),
  env: envRows,
  ssh_key_ids: deployBody.shape.ssh_key_ids.unwrap(),
  network_volume: volumeField,
  ...stopRuleFields,
})

const formSchema = formFields
  // Only direct ports are reached at an address of its own; without any it would cost for nothing.
  .refine(
    ({ public_ip, tcp_ports, udp_ports }) =>
      public_ip === 'shared' || tcp_ports.length + udp_ports.length > 0,
    { path: ['public_ip'], message: 'public_ip_no_ports' satisfies FieldRule },
  )
  .superRefine((values, context) => {
    // Only a pod has volumes; of the disk of a virtual machine there is nothing to compare.
    for (const { path, rule } of diskFaults({ ...values, kind: 'POD', data_disk_gb: null })) {
      context.addIssue({ code: 'custom', path: [path], message: rule })
    }
  })
