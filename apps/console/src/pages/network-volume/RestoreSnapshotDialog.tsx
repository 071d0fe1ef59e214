import { INSTANCE_NAME_CHARS_MAX } from '@berth/contract/limits'
import { restoreSnapshot, restoreSnapshotBody } from '@berth/contract/volume-snapshots'
import { volumeGb } from '@berth/contract/volumes'
import { NumberInput, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { useChange } from '../../api/use-change.ts'
import { useWayTo } from '../../app/way-to.ts'
import { DialogForm, FormDialog } from '../../lists/FormDialog.tsx'
import { useFormat } from '../../ui/format.ts'
import { toast } from '../../ui/toast.ts'
import { useContractForm } from '../../ui/use-contract-form.ts'
import type { SnapshotDialogProps } from './DeleteSnapshotDialog.tsx'
import { momentOf } from './SnapshotList.tsx'
import classes from './Snapshots.module.css'
import { useVolumePrice, VolumePriceNote } from './VolumePriceNote.tsx'

/** Makes a new volume of a snapshot: name and size, with what it costs in view (R2.25). */
export function RestoreSnapshotDialog({ opened, ...about }: SnapshotDialogProps) {
  const { t } = useTranslation('volumes')
  return (
    <FormDialog opened={opened} onClose={about.onClose} title={t('snapshots.restoring.title')}>
      <RestoreForm {...about} />
    </FormDialog>
  )
}

function RestoreForm({ volume, snapshot, onClose }: Omit<SnapshotDialogProps, 'opened'>) {
  const { t } = useTranslation('volumes')
  const format = useFormat()
  const toVolumes = useWayTo('/network-volume')
  const restore = useChange(restoreSnapshot, {
    silent: true,
    whenGone: (_, { body }) =>
      toast.good(t('snapshots.restoring.done', { name: body.name }), { link: toVolumes }),
  })
  const { form, ...state } = useContractForm({
    schema: formSchema,
    initialValues: { name: '', size_gb: volume.size_gb as number | string },
    onSubmit: async body => {
      await restore.send({ params: { id: volume.id, snapshot_id: snapshot.id }, body })
      toast.good(t('snapshots.restoring.done', { name: body.name }))
      onClose()
    },
  })
  const price = useVolumePrice(form.values.size_gb)
  const when = format.moment(momentOf(snapshot))
  return (
    <DialogForm
      call={restoreSnapshot}
      state={state}
      submitLabel={t('snapshots.restoring.submit')}
      onCancel={onClose}
    >
      <p className={classes.lead}>{t('snapshots.restoring.text', { name: volume.name, when })}</p>
      <TextInput
        label={t('fields.name')}
        placeholder={`${volume.name}-restored`.slice(0, INSTANCE_NAME_CHARS_MAX)}
        autoComplete="off"
        spellCheck={false}
        // One more than allowed, so that the rule can say that it is too long.
        maxLength={INSTANCE_NAME_CHARS_MAX + 1}
        data-autofocus
        {...form.getInputProps('name')}
      />
      <NumberInput
        label={t('fields.size')}
        description={t('snapshots.restoring.note', { gb: format.number(snapshot.size_gb ?? 1) })}
        suffix=" GB"
        allowDecimal={false}
        allowNegative={false}
        clampBehavior="none"
        {...form.getInputProps('size_gb')}
      />
      <VolumePriceNote query={price} />
    </DialogForm>
  )
}

const formSchema = z.object({
  ...restoreSnapshotBody.shape,
  size_gb: z
    .union([z.number(), z.string()])
    .transform(value => (value === '' ? Number.NaN : Number(value)))
    .pipe(volumeGb),
})
