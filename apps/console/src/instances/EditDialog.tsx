import { editInstance, type Instance, instanceName } from '@berth/contract/instances'
import { INSTANCE_NAME_CHARS_MAX } from '@berth/contract/limits'
import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { useChange } from '../api/use-change.ts'
import { DialogForm, FormDialog } from '../lists/FormDialog.tsx'
import { StopRuleFields } from '../ui/StopRuleFields.tsx'
import { stopRuleFields, stopRuleValues } from '../ui/stop-rules.ts'
import { useContractForm } from '../ui/use-contract-form.ts'
import type { InstanceDialogProps } from './instance-dialog.ts'

/** Gives an instance another name (R5.4), or says when it is stopped by itself (B5); what runs does not notice. */
export function EditDialog({ instance, opened, onClose }: InstanceDialogProps) {
  const { t } = useTranslation(['instances', 'common'])
  return (
    <FormDialog opened={opened} onClose={onClose} title={t('edit.title', { name: instance.name })}>
      <EditForm instance={instance} onClose={onClose} />
    </FormDialog>
  )
}

function EditForm({ instance, onClose }: Omit<InstanceDialogProps, 'opened'>) {
  const { t } = useTranslation(['instances', 'common'])
  // The list goes on being read behind the dialog: what was changed there meanwhile is not to be changed back.
  const [before] = useState(instance)
  const edit = useChange(editInstance, { silent: true })
  const { form, ...state } = useContractForm({
    schema: formSchema,
    initialValues: { name: before.name, ...stopRuleValues(before) },
    onSubmit: async wanted => {
      const changed = changedOf(before, wanted)
      if (changed) await edit.send({ body: { instance_id: instance.instance_id, ...changed } })
      onClose()
    },
  })
  return (
    <DialogForm call={editInstance} state={state} submitLabel={t('edit.save')} onCancel={onClose}>
      <TextInput
        label={t('edit.name')}
        description={t('edit.note')}
        autoComplete="off"
        spellCheck={false}
        // One more than allowed, so that the rule can say that it is too long.
        maxLength={INSTANCE_NAME_CHARS_MAX + 1}
        data-autofocus
        {...form.getInputProps('name')}
      />
      <StopRuleFields fieldOf={path => form.getInputProps(path)} currency={instance.currency} />
    </DialogForm>
  )
}

const formSchema = z.object({ name: instanceName, ...stopRuleFields })
type Wanted = z.output<typeof formSchema>

/** What is not as it was when the form opened; null where nothing is. */
function changedOf(before: Instance, wanted: Wanted): Partial<Wanted> | null {
  const changed = Object.entries(wanted).filter(([key, value]) => value !== before[key as keyof Wanted])
  return changed.length === 0 ? null : Object.fromEntries(changed)
}
