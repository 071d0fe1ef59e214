import { growVolume, type Volume, volumeGb } from '@berth/contract/volumes'
import { NumberInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { useChange } from '../../api/use-change.ts'
import { useWayTo } from '../../app/way-to.ts'
import { DialogForm, FormDialog } from '../../lists/FormDialog.tsx'
import { useFormat } from '../../ui/format.ts'
import { toast } from '../../ui/toast.ts'
import { useContractForm } from '../../ui/use-contract-form.ts'
import { useVolumePrice, VolumePriceNote } from './VolumePriceNote.tsx'

interface VolumeDialogProps {
  volume: Volume
  opened: boolean
  onClose: () => void
}

/** Makes a volume larger, with its price before and after. */
export function GrowVolumeDialog({ volume, opened, onClose }: VolumeDialogProps) {
  const { t } = useTranslation('volumes')
  return (
    <FormDialog opened={opened} onClose={onClose} title={t('grow.title', { name: volume.name })}>
      <GrowForm volume={volume} onClose={onClose} />
    </FormDialog>
  )
}

function GrowForm({ volume, onClose }: Omit<VolumeDialogProps, 'opened'>) {
  const { t } = useTranslation('volumes')
  const format = useFormat()
  const { id, name } = volume
  const toVolumes = useWayTo('/network-volume')
  const grow = useChange(growVolume, {
    silent: true,
    whenGone: () => toast.good(t('grow.gone', { name }), { link: toVolumes }),
  })
  const { form, ...state } = useContractForm({
    schema: formSchema,
    initialValues: { size_gb: volume.size_gb as number | string },
    onSubmit: async body => {
      await grow.send({ params: { id }, body })
      onClose()
    },
  })
  const price = useVolumePrice(form.values.size_gb, id)
  return (
    <DialogForm call={growVolume} state={state} submitLabel={t('grow.submit')} onCancel={onClose}>
      <NumberInput
        label={t('fields.size')}
        description={t('grow.note', { gb: format.number(volume.size_gb) })}
        suffix=" GB"
        allowDecimal={false}
        allowNegative={false}
        clampBehavior="none"
        data-autofocus
        {...form.getInputProps('size_gb')}
      />
      <VolumePriceNote query={price} />
    </DialogForm>
  )
}

const formSchema = z.object({
  size_gb: z
    .union([z.number(), z.string()])
    .transform(value => (value === '' ? Number.NaN : Number(value)))
    .pipe(volumeGb),
})
