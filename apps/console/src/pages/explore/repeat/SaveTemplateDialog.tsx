import { addDeployTemplate, addDeployTemplateBody } from '@berth/contract/deploy-templates'
import type { DeployBody } from '@berth/contract/instances'
import { TEMPLATE_NAME_CHARS_MAX } from '@berth/contract/limits'
import { TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../../api/use-change.ts'
import { DialogForm, FormDialog } from '../../../lists/FormDialog.tsx'
import { toast } from '../../../ui/toast.ts'
import { useContractForm } from '../../../ui/use-contract-form.ts'

interface SaveTemplateDialogProps {
  /** What the deploy form holds. */
  setup: DeployBody
  opened: boolean
  onClose: () => void
}

/** Keeps what the deploy form holds, to deploy it again (B18). */
export function SaveTemplateDialog({ setup, opened, onClose }: SaveTemplateDialogProps) {
  const { t } = useTranslation('deploy')
  return (
    <FormDialog opened={opened} onClose={onClose} title={t('template.save_title')}>
      <SaveTemplateForm setup={setup} onClose={onClose} />
    </FormDialog>
  )
}

function SaveTemplateForm({ setup, onClose }: Omit<SaveTemplateDialogProps, 'opened'>) {
  const { t } = useTranslation('deploy')
  const add = useChange(addDeployTemplate, { silent: true })
  const { form, ...state } = useContractForm({
    schema: addDeployTemplateBody.pick({ name: true }),
    initialValues: { name: setup.name },
    onSubmit: async ({ name }) => {
      await add.send({ body: { name, setup } })
      toast.good(t('template.saved', { name }))
      onClose()
    },
  })
  return (
    <DialogForm call={addDeployTemplate} state={state} submitLabel={t('template.save')} onCancel={onClose}>
      <TextInput
        label={t('template.name')}
        description={t('template.note')}
        autoComplete="off"
        maxLength={TEMPLATE_NAME_CHARS_MAX + 1}
        data-autofocus
        {...form.getInputProps('name')}
      />
    </DialogForm>
  )
}
