import {
  type DeployTemplate,
  removeDeployTemplate,
  renameDeployTemplate,
} from '@berth/contract/deploy-templates'
import { TEMPLATE_NAME_CHARS_MAX } from '@berth/contract/limits'
import { ActionIcon, Button, Modal, TextInput } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../../api/use-change.ts'
import { ConfirmDialog } from '../../../ui/ConfirmDialog.tsx'
import { FormFailure } from '../../../ui/FormFailure.tsx'
import { toast } from '../../../ui/toast.ts'
import { useContractForm } from '../../../ui/use-contract-form.ts'
import classes from './TemplatesDialog.module.css'

/** The templates of the account, to be renamed and removed. */
export function TemplatesDialog({
  templates,
  onClose,
}: {
  templates: readonly DeployTemplate[]
  onClose: () => void
}) {
  const { t } = useTranslation(['deploy', 'common'])
  const remove = useChange(removeDeployTemplate)
  const [going, setGoing] = useState<DeployTemplate | null>(null)
  return (
    <>
      <Modal
        opened={going === null}
        onClose={onClose}
        title={t('template.manage_title')}
        closeButtonProps={{ 'aria-label': t('common:dialog.close') }}
      >
        {templates.length === 0 && <p>{t('template.none')}</p>}
        <ul className={classes.list}>
          {templates.map(template => (
            <li key={template.id}>
              <RenameForm template={template} />
              <ActionIcon
                color="gray"
                aria-label={t('template.remove', { name: template.name })}
                title={t('template.remove', { name: template.name })}
                onClick={() => setGoing(template)}
              >
                <IconTrash size={16} stroke={1.6} aria-hidden="true" />
              </ActionIcon>
            </li>
          ))}
        </ul>
      </Modal>
      {going && (
        <ConfirmDialog
          opened
          danger
          title={t('template.remove_title', { name: going.name })}
          confirmLabel={t('template.remove_confirm')}
          onConfirm={() => remove.send({ params: { id: going.id } })}
          onClose={() => setGoing(null)}
        >
          <p>{t('template.remove_note')}</p>
        </ConfirmDialog>
      )}
    </>
  )
}

function RenameForm({ template: { id, name } }: { template: DeployTemplate }) {
  const { t } = useTranslation('deploy')
  const rename = useChange(renameDeployTemplate, { silent: true })
  const { form, submit, busy, failure } = useContractForm({
    schema: renameDeployTemplate.body,
    initialValues: { name },
    onSubmit: async body => {
      await rename.send({ params: { id }, body })
      toast.good(t('template.renamed', { name: body.name }))
    },
  })
  return (
    <form onSubmit={submit} noValidate className={classes.form}>
      <TextInput
        aria-label={t('template.name_of', { name })}
        autoComplete="off"
        maxLength={TEMPLATE_NAME_CHARS_MAX + 1}
        {...form.getInputProps('name')}
      />
      {form.values.name !== name && (
        <Button type="submit" variant="default" loading={busy}>
          {t('template.rename')}
        </Button>
      )}
      <FormFailure message={failure} />
    </form>
  )
}
