import { instanceCan } from '@berth/contract/instance-states'
import { detachVolume } from '@berth/contract/volume-attach-calls'
import type { Volume } from '@berth/contract/volumes'
import { Select } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../api/use-change.ts'
import { useOffFor } from '../../app/session/use-off-for.ts'
import { ConfirmDialog } from '../../ui/ConfirmDialog.tsx'

interface DetachDialogProps {
  volume: Volume
  opened: boolean
  onClose: () => void
}

/** Takes a volume from one of the instances that have it; one that runs keeps it until it stops, which is said. */
export function DetachDialog({ volume, opened, onClose }: DetachDialogProps) {
  const { t } = useTranslation('volumes')
  const { id, name, attached_to } = volume
  const detach = useChange(detachVolume)
  const free = attached_to.filter(one => instanceCan('detach_volume', { kind: 'POD', ...one }))
  const [chosen, setChosen] = useState(free[0]?.instance_id ?? '')
  const holder = attached_to.find(({ instance_id }) => instance_id === chosen)
  return (
    <ConfirmDialog
      off={useOffFor(detachVolume)}
      opened={opened}
      title={t('detach.of', { name })}
      confirmLabel={t('detach.submit')}
      disabled={!holder}
      onConfirm={() => detach.send({ params: { id }, body: { instance_id: chosen } })}
      onClose={onClose}
    >
      <Select
        label={t('attach.instance')}
        description={free.length < attached_to.length ? t('detach.runs') : undefined}
        allowDeselect={false}
        value={chosen}
        onChange={value => setChosen(value ?? '')}
        data={attached_to.map(one => ({
          value: one.instance_id,
          label: one.name,
          disabled: !free.includes(one),
        }))}
      />
      {holder && <p>{t('detach.text', { volume: name, path: holder.path })}</p>}
    </ConfirmDialog>
  )
}
