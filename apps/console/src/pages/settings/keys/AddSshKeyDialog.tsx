import { KEY_NAME_CHARS_MAX } from '@berth/contract/limits'
import { holdsPrivateKey } from '@berth/contract/private-key'
import { addSshKey, addSshKeyBody } from '@berth/contract/ssh-keys'
import { Textarea, TextInput } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../../api/use-change.ts'
import { DialogForm, FormDialog } from '../../../lists/FormDialog.tsx'
import { toast } from '../../../ui/toast.ts'
import { useContractForm } from '../../../ui/use-contract-form.ts'
import classes from './Keys.module.css'

interface AddSshKeyDialogProps {
  opened: boolean
  onClose: () => void
}

/** Adds a public SSH key; a private one never leaves the page (R1.7). */
export function AddSshKeyDialog({ opened, onClose }: AddSshKeyDialogProps) {
  const { t } = useTranslation(['keys', 'common'])
  return (
    <FormDialog opened={opened} onClose={onClose} title={t('ssh.form.title')} size={520}>
      <AddSshKeyForm onClose={onClose} />
    </FormDialog>
  )
}

function AddSshKeyForm({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation(['keys', 'common'])
  const add = useChange(addSshKey, { silent: true })
  const [wasPrivate, setWasPrivate] = useState(false)
  const { form, ...state } = useContractForm({
    schema: addSshKeyBody,
    initialValues: { public_key: '', name: '' },
    onSubmit: async body => {
      const { name } = await add.send({ body })
      toast.good(t('ssh.form.done', { name }))
      onClose()
    },
  })
  const type = (text: string) => {
    const isPrivate = holdsPrivateKey(text)
    setWasPrivate(isPrivate)
    form.clearFieldError('public_key')
    form.setFieldValue('public_key', isPrivate ? '' : text)
  }
  return (
    <DialogForm call={addSshKey} state={state} submitLabel={t('ssh.form.submit')} onCancel={onClose}>
      <Textarea
        label={t('ssh.form.key')}
        description={t('ssh.form.key_note')}
        placeholder="ssh-ed25519 AAAA…"
        rows={5}
        autoComplete="off"
        autoCorrect="off"
        autoCapitalize="off"
        // Some browsers send what they check to a server.
        spellCheck={false}
        classNames={{ input: 'mono' }}
        data-autofocus
        {...form.getInputProps('public_key')}
        onChange={event => type(event.currentTarget.value)}
      />
      <div role="alert" className={wasPrivate ? classes.warning : 'said'}>
        {wasPrivate && (
          <>
            <IconAlertTriangle size={16} aria-hidden="true" />
            <span>
              <strong>{t('ssh.private.title')}</strong>
              {t('ssh.private.text')}
            </span>
          </>
        )}
      </div>
      <TextInput
        label={t('ssh.form.name')}
        description={t('ssh.form.name_note')}
        autoComplete="off"
        maxLength={KEY_NAME_CHARS_MAX + 1}
        {...form.getInputProps('name')}
      />
    </DialogForm>
  )
}
