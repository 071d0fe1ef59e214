import { deleteSnapshot, type Snapshot } from '@berth/contract/volume-snapshots'
import type { Volume } from '@berth/contract/volumes'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../api/use-change.ts'
import { useOffFor } from '../../app/session/use-off-for.ts'
import { ConfirmDialog } from '../../ui/ConfirmDialog.tsx'
import { useFormat } from '../../ui/format.ts'
import { toast } from '../../ui/toast.ts'
import { momentOf } from './SnapshotList.tsx'

export interface SnapshotDialogProps {
  volume: Volume
  snapshot: Snapshot
  opened: boolean
  onClose: () => void
}

/** Deletes a snapshot, once that is confirmed. */
export function DeleteSnapshotDialog({ volume, snapshot, opened, onClose }: SnapshotDialogProps) {
  const { t } = useTranslation('volumes')
  const format = useFormat()
  const remove = useChange(deleteSnapshot)
  const when = format.moment(momentOf(snapshot))
  return (
    <ConfirmDialog
      danger
      off={useOffFor(deleteSnapshot)}
      opened={opened}
      title={t('snapshots.confirm.title', { when })}
      confirmLabel={t('snapshots.delete')}
      onConfirm={async () => {
        await remove.send({ params: { id: volume.id, snapshot_id: snapshot.id } })
        toast.good(t('snapshots.confirm.done', { when }))
      }}
      onClose={onClose}
    >
      {t('snapshots.confirm.text', { name: volume.name })}
    </ConfirmDialog>
  )
}
