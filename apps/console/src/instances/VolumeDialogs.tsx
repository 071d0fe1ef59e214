import { detachVolume } from '@berth/contract/volume-attach-calls'
import { listVolumes } from '@berth/contract/volumes'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../api/queries.ts'
import { useChange } from '../api/use-change.ts'
import { useOffFor } from '../app/session/use-off-for.ts'
import { FormDialog } from '../lists/FormDialog.tsx'
import { ConfirmDialog } from '../ui/ConfirmDialog.tsx'
import { useFormat } from '../ui/format.ts'
import { AttachVolumeForm } from './AttachVolumeForm.tsx'
import type { InstanceDialogProps } from './instance-dialog.ts'

/** Attaches one of the volumes of its region to an instance (R1.2, R2.25). */
export function AttachVolumeDialog({ instance, opened, onClose }: InstanceDialogProps) {
  const { t } = useTranslation('volumes')
  const format = useFormat()
  const { data } = useQuery(queryOf(listVolumes, { query: {} }))
  const choices = data
    ?.filter(
      ({ region_code, status, kind }) =>
        region_code === instance.region_code && status === 'ready' && kind === 'files',
    )
    .map(({ id, name, size_gb }) => ({
      value: id,
      label: t('deploy.option', { name, gb: format.number(size_gb) }),
    }))
  return (
    <FormDialog opened={opened} onClose={onClose} title={t('attach.to', { name: instance.name })}>
      <AttachVolumeForm
        given={{ instance: instance.instance_id }}
        choices={choices}
        none={t('attach.no_volumes')}
        onClose={onClose}
      />
    </FormDialog>
  )
}

/** Asks before an instance loses its volume, which keeps what it holds. */
export function DetachVolumeDialog({ instance, opened, onClose }: InstanceDialogProps) {
  const { t } = useTranslation('volumes')
  const { instance_id, name, disks } = instance
  const { data } = useQuery(queryOf(listVolumes, { query: {} }))
  const detach = useChange(detachVolume)
  const id = disks.network_volume?.id ?? ''
  const volume = data?.find(one => one.id === id)?.name ?? id
  return (
    <ConfirmDialog
      off={useOffFor(detachVolume)}
      opened={opened}
      title={t('detach.from', { name })}
      confirmLabel={t('detach.submit')}
      disabled={id === ''}
      onConfirm={() => detach.send({ params: { id }, body: { instance_id } })}
      onClose={onClose}
    >
      <p>{t('detach.text', { volume, path: disks.network_volume?.path ?? '' })}</p>
    </ConfirmDialog>
  )
}
