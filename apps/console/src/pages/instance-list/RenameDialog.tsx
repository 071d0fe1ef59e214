import { editInstance, instanceName } from '@berth/contract/instances'
import { INSTANCE_NAME_CHARS_MAX } from '@berth/contract/limits'
import { TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { useChange } from '../../api/use-change.ts'
import { DialogForm, FormDialog } from '../../lists/FormDialog.tsx'
import { useContractForm } from '../../ui/use-contract-form.ts'
import type { InstanceDialogProps } from './instance-dialog.ts'

/** Gives an instance another name (R5.4); what runs does not notice. */
export function RenameDialog({ instance, opened, onClose }: InstanceDialogProps) {
  const { t } = useTranslation(['instances', 'common'])
  return (
    <FormDialog opened={opened} onClose={onClose} title={t('rename.title', { name: instance.name })}>
      <RenameForm instance={instance} onClose={onClose} />
    </FormDialog>
  )
}

function RenameForm({ instance, onClose }: Omit<InstanceDialogProps, 'opened'>) {
  const { t } = useTranslation(['instances', 'common'])
  const rename = useChange(editInstance, { silent: true })
  const { form, ...state } = useContractForm({
    schema: formSchema,
    initialValues: { name: instance.name },
    onSubmit: async ({ name }) => {
      if (name !== instance.name) await rename.send({ body: { instance_id: instance.instance_id, name } })
      onClose()
    },
  })
  return (
    <DialogForm call={editInstance} state={state} submitLabel={t('rename.save')} onCancel={onClose}>
      <TextInput
        label={t('rename.name')}
        description={t('rename.note')}
        autoComplete="off"
        spellCheck={false}
        // One more than allowed, so that the rule can say that it is too long.
        maxLength={INSTANCE_NAME_CHARS_MAX + 1}
        data-autofocus
        {...form.getInputProps('name')}
      />
    </DialogForm>
  )
}

const formSchema = z.object({ name: instanceName })
