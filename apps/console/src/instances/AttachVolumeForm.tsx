import { VOLUME_PATH_CHARS_MAX } from '@berth/contract/limits'
import { attachVolume, attachVolumeBody } from '@berth/contract/volume-attach-calls'
import { volumeId } from '@berth/contract/volumes'
import { Select, TextInput } from '@mantine/core'
import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { useChange } from '../api/use-change.ts'
import { DialogForm } from '../lists/FormDialog.tsx'
import { toast } from '../ui/toast.ts'
import { useContractForm } from '../ui/use-contract-form.ts'

/** Where a volume stands unless somebody says otherwise. */
const PATH_AT_FIRST = '/data'

/** One that can be chosen. */
export interface Choice {
  value: string
  label: string
}

interface AttachVolumeFormProps {
  /** Which is to get which: one of them is given, the other is chosen. */
  given: { volume: string } | { instance: string }
  /** What can be chosen; undefined while it is not known. */
  choices: readonly Choice[] | undefined
  /** What is said where there is nothing to choose. */
  none: string
  onClose: () => void
}

/** Gives a volume to an instance that does not run, at a path (R1.2); from the page of either. */
export function AttachVolumeForm({ given, choices, none, onClose }: AttachVolumeFormProps) {
  const { t } = useTranslation('volumes')
  const attach = useChange(attachVolume)
  const isOfVolume = 'volume' in given
  const { form, ...state } = useContractForm({
    schema: formSchema,
    initialValues: {
      id: isOfVolume ? given.volume : '',
      instance_id: isOfVolume ? '' : given.instance,
      path: PATH_AT_FIRST,
    },
    onSubmit: async ({ id, ...body }) => {
      await attach.send({ params: { id }, body })
      toast.good(t('attach.done'))
      onClose()
    },
  })
  const field = isOfVolume ? 'instance_id' : 'id'
  const { values, setFieldValue } = form
  const first = choices?.[0]?.value
  useEffect(() => {
    if (values[field] === '' && first !== undefined) setFieldValue(field, first)
  }, [values, field, first, setFieldValue])
  return (
    <DialogForm call={attachVolume} state={state} submitLabel={t('attach.submit')} onCancel={onClose}>
      <Select
        label={t(isOfVolume ? 'attach.instance' : 'deploy.volume')}
        description={choices?.length === 0 ? none : t('attach.note')}
        allowDeselect={false}
        data={[...(choices ?? [])]}
        data-autofocus
        {...form.getInputProps(field)}
      />
      <TextInput
        label={t('deploy.path')}
        description={t('deploy.path_note')}
        maxLength={VOLUME_PATH_CHARS_MAX + 1}
        autoComplete="off"
        spellCheck={false}
        classNames={{ input: 'mono' }}
        {...form.getInputProps('path')}
      />
    </DialogForm>
  )
}

const formSchema = z.object({ id: volumeId, ...attachVolumeBody.shape })
