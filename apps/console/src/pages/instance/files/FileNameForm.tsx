import type { Call } from '@berth/contract/call'
import { TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { DialogForm } from '../../../lists/FormDialog.tsx'
import { useContractForm } from '../../../ui/use-contract-form.ts'

/** As long as a name is on any file system of Linux. */
const NAME_CHARS_MAX = 255

/** One name in a folder. */
const schema = z.object({
  path: z
    .string()
    .min(1, { error: 'required' })
    .max(NAME_CHARS_MAX, { error: 'too_long' })
    .refine(name => !name.includes('/') && name !== '.' && name !== '..', { error: 'not_allowed' }),
})

interface FileNameFormProps {
  /** What the name is for. */
  call: Call
  initial: string
  submitLabel: string
  onSend: (name: string) => Promise<void>
  onCancel: () => void
}

/** A form for one name. */
export function FileNameForm({ call, initial, submitLabel, onSend, onCancel }: FileNameFormProps) {
  const { t } = useTranslation('files')
  const { form, ...state } = useContractForm({
    schema,
    initialValues: { path: initial },
    onSubmit: ({ path }) => onSend(path),
  })
  return (
    <DialogForm call={call} state={state} submitLabel={submitLabel} onCancel={onCancel}>
      <TextInput
        label={t('columns.name')}
        autoComplete="off"
        spellCheck={false}
        maxLength={NAME_CHARS_MAX + 1}
        data-autofocus
        {...form.getInputProps('path')}
      />
    </DialogForm>
  )
}
