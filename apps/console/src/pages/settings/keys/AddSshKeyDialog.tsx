import { KEY_NAME_CHARS_MAX } from '@berth/contract/limits'
import { holdsPrivateKey } from '@berth/contract/private-key'
import { addSshKey, addSshKeyBody, listSshKeys } from '@berth/contract/ssh-keys'
import { Button, Modal, Textarea, TextInput } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { request } from '../../../api/client.ts'
import { FormFailure } from '../../../ui/FormFailure.tsx'
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
    <Modal
      opened={opened}
      onClose={onClose}
      title={t('ssh.form.title')}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': t('common:dialog.close') }}
      size={520}
    >
      <AddSshKeyForm onClose={onClose} />
    </Modal>
  )
}

function AddSshKeyForm({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation(['keys', 'common'])
  const queries = useQueryClient()
  const [wasPrivate, setWasPrivate] = useState(false)
  const { form, submit, busy, failure } = useContractForm({
    schema: addSshKeyBody,
    initialValues: { public_key: '', name: '' },
    onSubmit: async body => {
      const { name } = await request(addSshKey, { body }, { silent: true })
      await queries.invalidateQueries({ queryKey: [listSshKeys.operation] })
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
    <form onSubmit={submit} noValidate className={classes.form}>
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
      <FormFailure message={failure} />
      <div className={classes.buttons}>
        <Button variant="default" onClick={onClose}>
          {t('common:dialog.cancel')}
        </Button>
        <Button type="submit" loading={busy}>
          {t('ssh.form.submit')}
        </Button>
      </div>
    </form>
  )
}
