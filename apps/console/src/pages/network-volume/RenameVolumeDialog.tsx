import { INSTANCE_NAME_CHARS_MAX } from '@berth/contract/limits'
import { editVolume, editVolumeBody, type Volume } from '@berth/contract/volumes'
import { TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../api/use-change.ts'
import { DialogForm, FormDialog } from '../../lists/FormDialog.tsx'
import { useContractForm } from '../../ui/use-contract-form.ts'

interface VolumeDialogProps {
  volume: Volume
  opened: boolean
  onClose: () => void
}

/** Gives a volume another name; instances that have it do not notice. */
export function RenameVolumeDialog({ volume, opened, onClose }: VolumeDialogProps) {
  const { t } = useTranslation('volumes')
  return (
    <FormDialog opened={opened} onClose={onClose} title={t('rename.title', { name: volume.name })}>
      <RenameForm volume={volume} onClose={onClose} />
    </FormDialog>
  )
}

function RenameForm({ volume, onClose }: Omit<VolumeDialogProps, 'opened'>) {
  const { t } = useTranslation('volumes')
  const { id } = volume
  const rename = useChange(editVolume, { silent: true })
  const { form, ...state } = useContractForm({
    schema: editVolumeBody.pick({ name: true }),
    initialValues: { name: volume.name },
    onSubmit: async ({ name }) => {
      await rename.send({ body: { id, name } })
      onClose()
    },
  })
  return (
    <DialogForm call={editVolume} state={state} submitLabel={t('rename.submit')} onCancel={onClose}>
      <TextInput
        label={t('fields.name')}
        autoComplete="off"
        spellCheck={false}
        maxLength={INSTANCE_NAME_CHARS_MAX + 1}
        data-autofocus
        {...form.getInputProps('name')}
      />
    </DialogForm>
  )
}
