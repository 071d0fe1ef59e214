import { deleteVolume, type Volume } from '@berth/contract/volumes'
import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../api/use-change.ts'
import { useOffFor } from '../../app/session/use-off-for.ts'
import { ConfirmDialog } from '../../ui/ConfirmDialog.tsx'
import { useFormat } from '../../ui/format.ts'
import { toast } from '../../ui/toast.ts'

interface DeleteVolumeDialogProps {
  volume: Volume
  opened: boolean
  onClose: () => void
}

/**
 * Deletes a volume when its exact name is typed (R5.7). What is typed is sent as it is: the gateway decides, and a wrong
 * name is its error, which keeps what was typed.
 */
export function DeleteVolumeDialog({ volume, opened, onClose }: DeleteVolumeDialogProps) {
  const { t } = useTranslation(['volumes', 'errors'])
  const format = useFormat()
  const { id, name, size_gb, snapshots } = volume
  const remove = useChange(deleteVolume)
  const [typed, setTyped] = useState('')
  const [wrong, setWrong] = useState(false)
  return (
    <ConfirmDialog
      danger
      off={useOffFor(deleteVolume)}
      opened={opened}
      title={t('delete.title', { name })}
      confirmLabel={t('delete.submit')}
      onConfirm={async () => {
        if (typed !== name) {
          setWrong(true)
          throw new Error('the name is not right')
        }
        await remove.send({ params: { id }, query: { name: typed } })
        toast.good(t('delete.done', { name }))
      }}
      onClose={onClose}
    >
      <p>{t('delete.text', { gb: format.number(size_gb) })}</p>
      {snapshots > 0 && <p>{t('delete.snapshots', { count: snapshots })}</p>}
      <TextInput
        label={t('delete.field', { name })}
        autoComplete="off"
        spellCheck={false}
        value={typed}
        error={wrong ? t('errors:volume_name_incorrect') : null}
        onChange={event => {
          setTyped(event.currentTarget.value)
          setWrong(false)
        }}
      />
    </ConfirmDialog>
  )
}
