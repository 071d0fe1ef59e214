import { editInstance, instanceName } from '@berth/contract/instances'
import { INSTANCE_NAME_CHARS_MAX } from '@berth/contract/limits'
import { Button, Modal, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { request } from '../../api/client.ts'
import { FormFailure } from '../../ui/FormFailure.tsx'
import { useContractForm } from '../../ui/use-contract-form.ts'
import { type InstanceDialogProps, useReread } from './instance-dialog.ts'
import classes from './RenameDialog.module.css'

/** Gives an instance another name (R5.4); what runs does not notice. */
export function RenameDialog({ instance, opened, onClose }: InstanceDialogProps) {
  const { t } = useTranslation(['instances', 'common'])
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t('rename.title', { name: instance.name })}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': t('common:dialog.close') }}
      size={440}
    >
      <RenameForm instance={instance} onClose={onClose} />
    </Modal>
  )
}

function RenameForm({ instance, onClose }: Omit<InstanceDialogProps, 'opened'>) {
  const { t } = useTranslation(['instances', 'common'])
  const reread = useReread()
  const { form, submit, busy, failure } = useContractForm({
    schema: formSchema,
    initialValues: { name: instance.name },
    onSubmit: async ({ name }) => {
      if (name !== instance.name) {
        await request(editInstance, { body: { instance_id: instance.instance_id, name } }, { silent: true })
        await reread()
      }
      onClose()
    },
  })
  return (
    <form onSubmit={submit} noValidate className={classes.form}>
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
      <FormFailure message={failure} />
      <div className={classes.buttons}>
        <Button variant="default" onClick={onClose}>
          {t('common:dialog.cancel')}
        </Button>
        <Button type="submit" loading={busy}>
          {t('rename.save')}
        </Button>
      </div>
    </form>
  )
}

const formSchema = z.object({ name: instanceName })
