import { type ApiKey, editApiKey, editApiKeyBody } from '@berth/contract/api-keys'
import { KEY_NAME_CHARS_MAX } from '@berth/contract/limits'
import { TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { useChange } from '../../../api/use-change.ts'
import { DialogForm, FormDialog } from '../../../lists/FormDialog.tsx'
import { toast } from '../../../ui/toast.ts'
import { useContractForm } from '../../../ui/use-contract-form.ts'
import {
  KeyLimitFields,
  limitFields,
  limitsOf,
  limitValues,
  NAMES_NONE,
  namesModels,
} from './KeyLimitFields.tsx'

interface EditApiKeyDialogProps {
  apiKey: ApiKey
  opened: boolean
  onClose: () => void
}

/** Changes what a key is called and how it is limited; its text stays as it is (B10). */
export function EditApiKeyDialog({ apiKey, opened, onClose }: EditApiKeyDialogProps) {
  const { t } = useTranslation('keys')
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title={t('api.form.edit_title', { name: apiKey.name })}
      size={480}
    >
      <EditApiKeyForm apiKey={apiKey} onClose={onClose} />
    </FormDialog>
  )
}

function EditApiKeyForm({ apiKey, onClose }: Omit<EditApiKeyDialogProps, 'opened'>) {
  const { t } = useTranslation(['keys', 'common'])
  const edit = useChange(editApiKey, { silent: true })
  const { form, ...state } = useContractForm({
    schema: formSchema,
    initialValues: { name: apiKey.name, ...limitValues(apiKey) },
    onSubmit: async ({ name, ...limits }) => {
      await edit.send({ params: { id: apiKey.id }, body: { name, ...limitsOf(limits) } })
      toast.good(t('api.form.saved', { name }))
      onClose()
    },
  })
  return (
    <DialogForm call={editApiKey} state={state} submitLabel={t('save')} onCancel={onClose}>
      <TextInput
        label={t('api.form.name')}
        autoComplete="off"
        maxLength={KEY_NAME_CHARS_MAX + 1}
        data-autofocus
        {...form.getInputProps('name')}
      />
      <KeyLimitFields form={form} />
    </DialogForm>
  )
}

const formSchema = z
  .object({ name: editApiKeyBody.shape.name, ...limitFields })
  .refine(namesModels, NAMES_NONE)
