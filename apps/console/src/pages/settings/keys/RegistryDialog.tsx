import { KEY_NAME_CHARS_MAX } from '@berth/contract/limits'
import {
  addRegistryCredential,
  addRegistryCredentialBody,
  editRegistryCredential,
  type RegistryCredential,
} from '@berth/contract/registries'
import { TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { useChange } from '../../../api/use-change.ts'
import { DialogForm, FormDialog } from '../../../lists/FormDialog.tsx'
import { toast } from '../../../ui/toast.ts'
import { useContractForm } from '../../../ui/use-contract-form.ts'

interface RegistryDialogProps {
  /** What is edited; null adds one. */
  credential: RegistryCredential | null
  opened: boolean
  onClose: () => void
}

/** Adds a registry credential, or edits one; its password goes in and never comes back (R3.12). */
export function RegistryDialog({ credential, opened, onClose }: RegistryDialogProps) {
  const { t } = useTranslation(['keys', 'common'])
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title={
        credential ? t('registry.form.edit_title', { name: credential.name }) : t('registry.form.add_title')
      }
    >
      <RegistryForm credential={credential} onClose={onClose} />
    </FormDialog>
  )
}

function RegistryForm({ credential, onClose }: Omit<RegistryDialogProps, 'opened'>) {
  const { t } = useTranslation(['keys', 'common'])
  const edit = useChange(editRegistryCredential, { silent: true })
  const add = useChange(addRegistryCredential, { silent: true })
  const { form, ...state } = useContractForm({
    schema: credential ? editSchema : addSchema,
    initialValues: {
      registry: credential?.registry ?? 'docker.io',
      name: credential?.name ?? '',
      username: credential?.username ?? '',
      password: '',
    },
    onSubmit: async ({ registry, password, ...rest }) => {
      if (credential) {
        const body = { ...rest, ...(password !== undefined && { password }) }
        await edit.send({ params: { id: credential.id }, body })
      } else {
        await add.send({ body: { ...rest, registry, password: password ?? '' } })
      }
      toast.good(t(credential ? 'registry.form.saved' : 'registry.form.done', { name: rest.name }))
      onClose()
    },
  })
  const plain = { autoComplete: 'off', autoCapitalize: 'off', spellCheck: false }
  return (
    <DialogForm
      call={credential ? editRegistryCredential : addRegistryCredential}
      state={state}
      submitLabel={credential ? t('save') : t('registry.form.submit')}
      onCancel={onClose}
    >
      <TextInput
        label={t('registry.form.registry')}
        description={credential ? t('registry.form.registry_fixed') : t('registry.form.registry_note')}
        readOnly={credential !== null}
        {...plain}
        inputMode="url"
        {...form.getInputProps('registry')}
      />
      <TextInput
        label={t('registry.form.name')}
        {...plain}
        maxLength={KEY_NAME_CHARS_MAX + 1}
        data-autofocus
        {...form.getInputProps('name')}
      />
      <TextInput label={t('registry.form.username')} {...plain} {...form.getInputProps('username')} />
      <TextInput
        type="password"
        label={t('registry.form.password')}
        description={credential ? t('registry.form.password_kept_note') : t('registry.form.password_note')}
        placeholder={credential ? t('registry.form.password_kept') : undefined}
        autoComplete="new-password"
        {...form.getInputProps('password')}
      />
    </DialogForm>
  )
}

type RegistryValues = Record<'registry' | 'name' | 'username' | 'password', string>
/** A password that is not given stays. */
type RegistryOutput = Record<'registry' | 'name' | 'username', string> & { password?: string | undefined }

const { name, username, registry, password } = addRegistryCredentialBody.shape
const addSchema: z.ZodType<RegistryOutput, RegistryValues> = z.object({
  name,
  username,
  registry: registry.unwrap(),
  password,
})
const editSchema: z.ZodType<RegistryOutput, RegistryValues> = z.object({
  name,
  username,
  registry: z.string(),
  password: z
    .string()
    .transform(text => (text === '' ? undefined : text))
    .pipe(password.optional()),
})
