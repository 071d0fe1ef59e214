import { INSTANCE_NAME_CHARS_MAX } from '@berth/contract/limits'
import { createVolume, createVolumeBody, type VolumeKind, volumeGb } from '@berth/contract/volumes'
import { NumberInput, Select, TextInput } from '@mantine/core'
import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { useChange } from '../../api/use-change.ts'
import { useWayTo } from '../../app/way-to.ts'
import { DialogForm, FormDialog } from '../../lists/FormDialog.tsx'
import { toast } from '../../ui/toast.ts'
import { useContractForm } from '../../ui/use-contract-form.ts'
import classes from './NetworkVolumePage.module.css'
import { useVolumePrice, VolumePriceNote } from './VolumePriceNote.tsx'

/** As much as most begin with. */
const GB_AT_FIRST = 100

interface CreateVolumeDialogProps {
  opened: boolean
  onClose: () => void
}

/** Makes a network volume: name, region, size, with what it costs in view (R2.25). */
export function CreateVolumeDialog({ opened, onClose }: CreateVolumeDialogProps) {
  const { t } = useTranslation('volumes')
  return (
    <FormDialog opened={opened} onClose={onClose} title={t('create.title')}>
      <CreateForm onClose={onClose} />
    </FormDialog>
  )
}

function CreateForm({ onClose }: Pick<CreateVolumeDialogProps, 'onClose'>) {
  const { t } = useTranslation('volumes')
  const toVolumes = useWayTo('/network-volume')
  const create = useChange(createVolume, {
    silent: true,
    whenGone: (_, { body }) => toast.good(t('create.gone', { name: body.name }), { link: toVolumes }),
  })
  const { form, ...state } = useContractForm({
    schema: formSchema,
    initialValues: {
      ...{ name: '', region_code: '', size_gb: GB_AT_FIRST as number | string },
      kind: 'files' as VolumeKind,
    },
    onSubmit: async body => {
      await create.send({ body })
      toast.good(t('create.done', { name: body.name }))
      onClose()
    },
  })
  const { values, setFieldValue } = form
  const price = useVolumePrice(values.size_gb)
  const regions = price.data?.regions
  useEffect(() => {
    if (values.region_code === '' && regions?.[0]) setFieldValue('region_code', regions[0].region_code)
  }, [regions, values.region_code, setFieldValue])
  const region = regions?.find(({ region_code }) => region_code === values.region_code)
  const [only] = region?.kinds ?? []
  const isOffered = region === undefined || region.kinds.includes(values.kind ?? 'files')
  useEffect(() => {
    if (!isOffered && only) setFieldValue('kind', only)
  }, [isOffered, only, setFieldValue])
  return (
    <DialogForm call={createVolume} state={state} submitLabel={t('create.submit')} onCancel={onClose}>
      <TextInput
        label={t('fields.name')}
        placeholder={t('fields.name_placeholder')}
        autoComplete="off"
        spellCheck={false}
        // One more than allowed, so that the rule can say that it is too long.
        maxLength={INSTANCE_NAME_CHARS_MAX + 1}
        data-autofocus
        {...form.getInputProps('name')}
      />
      <Select
        label={t('fields.region')}
        description={regions?.length === 0 ? t('fields.no_regions') : t('fields.region_note')}
        allowDeselect={false}
        data={(regions ?? []).map(one => ({ value: one.region_code, label: one.region_name }))}
        {...form.getInputProps('region_code')}
      />
      {region && region.kinds.length > 1 && (
        <Select
          label={t('fields.kind')}
          allowDeselect={false}
          data={region.kinds.map(value => ({ value, label: t(`kinds.${value}`) }))}
          {...form.getInputProps('kind')}
        />
      )}
      <NumberInput
        label={t('fields.size')}
        description={t('fields.size_note')}
        suffix=" GB"
        allowDecimal={false}
        allowNegative={false}
        clampBehavior="none"
        {...form.getInputProps('size_gb')}
      />
      {region && (
        <p className={classes.note}>
          {values.kind === 'objects'
            ? t('sharing.objects')
            : t(region.shared ? 'sharing.shared' : 'sharing.one')}
          {(values.kind === 'objects' || !region.size_enforced) && ` ${t('size_not_enforced')}`}
        </p>
      )}
      <VolumePriceNote query={price} />
    </DialogForm>
  )
}

const formSchema = z.object({
  ...createVolumeBody.shape,
  size_gb: z
    .union([z.number(), z.string()])
    .transform(value => (value === '' ? Number.NaN : Number(value)))
    .pipe(volumeGb),
})
