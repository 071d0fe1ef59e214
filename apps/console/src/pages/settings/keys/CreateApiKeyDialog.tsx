import { createApiKey, createApiKeyBody } from '@berth/contract/api-keys'
import { KEY_NAME_CHARS_MAX } from '@berth/contract/limits'
import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { useChange } from '../../../api/use-change.ts'
import { DialogForm, FormDialog } from '../../../lists/FormDialog.tsx'
import { SegmentedFilter } from '../../../ui/SegmentedFilter.tsx'
import { useContractForm } from '../../../ui/use-contract-form.ts'
import {
  KeyLimitFields,
  limitFields,
  limitsOf,
  limitValues,
  NAMES_NONE,
  namesModels,
} from './KeyLimitFields.tsx'
import classes from './Keys.module.css'
import { NewApiKey } from './NewApiKey.tsx'

const LIVES = ['30', '90', '365', 'never'] as const

interface CreateApiKeyDialogProps {
  opened: boolean
  onClose: () => void
}

/**
 * Makes a model API key and shows it, this once (B10). While it is shown, only its own button closes; while it is made,
 * nothing does: a key that nobody saw could never be used.
 */
export function CreateApiKeyDialog({ opened, onClose }: CreateApiKeyDialogProps) {
  const { t } = useTranslation('keys')
  const [made, setMade] = useState<string | null>(null)
  const [making, setMaking] = useState(false)
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title={made === null ? t('api.form.title') : t('api.made.title')}
      stays={making}
      closedInside={made !== null}
      size={480}
    >
      {made === null ? (
        <CreateApiKeyForm onMaking={setMaking} onMade={setMade} onClose={onClose} />
      ) : (
        <NewApiKey value={made} onClose={onClose} />
      )}
    </FormDialog>
  )
}

interface CreateApiKeyFormProps {
  onMaking: (making: boolean) => void
  onMade: (key: string) => void
  onClose: () => void
}

function CreateApiKeyForm({ onMaking, onMade, onClose }: CreateApiKeyFormProps) {
  const { t } = useTranslation(['keys', 'common'])
  const create = useChange(createApiKey, { silent: true, behind: true })
  const { form, ...state } = useContractForm({
    schema: formSchema,
    initialValues: { name: '', expires_in_days: '90', ...limitValues(null) },
    onSubmit: async ({ name, expires_in_days, ...limits }) => {
      onMaking(true)
      const body = { name, expires_in_days, ...limitsOf(limits) }
      const { key } = await create.send({ body }).finally(() => onMaking(false))
      onMade(key)
    },
  })
  const labelOf = (life: (typeof LIVES)[number]) => {
    if (life === 'never') return t('api.form.never')
    return life === '365' ? t('api.form.year') : t('api.form.days', { count: Number(life) })
  }
  return (
    <DialogForm
      call={createApiKey}
      state={state}
      submitLabel={t('api.form.submit')}
      onCancel={onClose}
      staysWhileBusy
    >
      <TextInput
        label={t('api.form.name')}
        description={t('api.form.name_note')}
        autoComplete="off"
        maxLength={KEY_NAME_CHARS_MAX + 1}
        data-autofocus
        {...form.getInputProps('name')}
      />
      <div className={classes.choice}>
        <span className={classes.choiceLabel} aria-hidden="true">
          {t('api.form.expiry')}
        </span>
        <SegmentedFilter
          fill
          label={t('api.form.expiry')}
          value={form.values.expires_in_days}
          onChange={life => form.setFieldValue('expires_in_days', life)}
          options={LIVES.map(value => ({ value, label: labelOf(value) }))}
        />
      </div>
      <KeyLimitFields form={form} />
    </DialogForm>
  )
}

const formSchema = z
  .object({
    name: createApiKeyBody.shape.name,
    expires_in_days: z.string().transform(life => (life === 'never' ? null : Number(life))),
    ...limitFields,
  })
  .refine(namesModels, NAMES_NONE)
