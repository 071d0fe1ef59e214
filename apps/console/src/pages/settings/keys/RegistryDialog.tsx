import { KEY_NAME_CHARS_MAX } from '@berth/contract/limits'
import {
  addRegistryCredential,
  addRegistryCredentialBody,
  editRegistryCredential,
  listRegistryCredentials,
  type RegistryCredential,
} from '@berth/contract/registries'
import { Button, Modal, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { request } from '../../../api/client.ts'
import { FormFailure } from '../../../ui/FormFailure.tsx'
import { toast } from '../../../ui/toast.ts'
import { useContractForm } from '../../../ui/use-contract-form.ts'
import classes from './Keys.module.css'

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
    <Modal
      opened={opened}
      onClose={onClose}
      title={
        credential ? t('registry.form.edit_title', { name: credential.name }) : t('registry.form.add_title')
      }
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': t('common:dialog.close') }}
      size={440}
    >
      <RegistryForm credential={credential} onClose={onClose} />
    </Modal>
  )
}

function RegistryForm({ credential, onClose }: Omit<RegistryDialogProps, 'opened'>) {
  const { t } = useTranslation(['keys', 'common'])
  const queries = useQueryClient()
  const { form, submit, busy, failure } = useContractForm({
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
        await request(editRegistryCredential, { params: { id: credential.id }, body }, { silent: true })
      } else {
        const body = { ...rest, registry, password: password ?? '' }
        await request(addRegistryCredential, { body }, { silent: true })
      }
      await queries.invalidateQueries({ queryKey: [listRegistryCredentials.operation] })
      toast.good(t(credential ? 'registry.form.saved' : 'registry.form.done', { name: rest.name }))
      onClose()
    },
  })
  const plain = { autoComplete: 'off', autoCapitalize: 'off', spellCheck: false }
  return (
    <form onSubmit={submit} noValidate className={classes.form}>
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
      <FormFailure message={failure} />
      <div className={classes.buttons}>
        <Button variant="default" onClick={onClose}>
          {t('common:dialog.cancel')}
        </Button>
        <Button type="submit" loading={busy}>
          {credential ? t('save') : t('registry.form.submit')}
        </Button>
      </div>
    </form>
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
