import { createApiKey, createApiKeyBody, listApiKeys } from '@berth/contract/api-keys'
import { KEY_NAME_CHARS_MAX } from '@berth/contract/limits'
import { Button, Modal, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { request } from '../../../api/client.ts'
import { FormFailure } from '../../../ui/FormFailure.tsx'
import { SegmentedFilter } from '../../../ui/SegmentedFilter.tsx'
import { useContractForm } from '../../../ui/use-contract-form.ts'
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
  const { t } = useTranslation(['keys', 'common'])
  const [made, setMade] = useState<string | null>(null)
  const [making, setMaking] = useState(false)
  const closable = made === null && !making
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={made === null ? t('api.form.title') : t('api.made.title')}
      closeOnClickOutside={false}
      closeOnEscape={closable}
      withCloseButton={made === null}
      closeButtonProps={{ 'aria-label': t('common:dialog.close'), disabled: making }}
      size={480}
    >
      {made === null ? (
        <CreateApiKeyForm onMaking={setMaking} onMade={setMade} onClose={onClose} />
      ) : (
        <NewApiKey value={made} onClose={onClose} />
      )}
    </Modal>
  )
}

interface CreateApiKeyFormProps {
  onMaking: (making: boolean) => void
  onMade: (key: string) => void
  onClose: () => void
}

function CreateApiKeyForm({ onMaking, onMade, onClose }: CreateApiKeyFormProps) {
  const { t } = useTranslation(['keys', 'common'])
  const queries = useQueryClient()
  const { form, submit, busy, failure } = useContractForm({
    schema: formSchema,
    initialValues: { name: '', expires_in_days: '90' },
    onSubmit: async body => {
      onMaking(true)
      const { key } = await request(createApiKey, { body }, { silent: true }).finally(() => onMaking(false))
      void queries.invalidateQueries({ queryKey: [listApiKeys.operation] })
      onMade(key)
    },
  })
  const labelOf = (life: (typeof LIVES)[number]) => {
    if (life === 'never') return t('api.form.never')
    return life === '365' ? t('api.form.year') : t('api.form.days', { count: Number(life) })
  }
  return (
    <form onSubmit={submit} noValidate className={classes.form}>
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
      <FormFailure message={failure} />
      <div className={classes.buttons}>
        <Button variant="default" disabled={busy} onClick={onClose}>
          {t('common:dialog.cancel')}
        </Button>
        <Button type="submit" loading={busy}>
          {t('api.form.submit')}
        </Button>
      </div>
    </form>
  )
}

const formSchema = z.object({
  name: createApiKeyBody.shape.name,
  expires_in_days: z.string().transform(life => (life === 'never' ? null : Number(life))),
})
