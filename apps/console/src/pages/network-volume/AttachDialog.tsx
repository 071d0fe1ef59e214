import { instanceCan } from '@berth/contract/instance-states'
import type { Volume } from '@berth/contract/volumes'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { instancesQuery } from '../../api/instances-query.ts'
import { AttachVolumeForm } from '../../instances/AttachVolumeForm.tsx'
import { FormDialog } from '../../lists/FormDialog.tsx'

interface AttachDialogProps {
  volume: Volume
  opened: boolean
  onClose: () => void
}

/** Attaches a volume to an instance of its region that does not run and has none (R1.2, R2.25). */
export function AttachDialog({ volume, opened, onClose }: AttachDialogProps) {
  const { t } = useTranslation('volumes')
  const { data } = useQuery(instancesQuery)
  const choices = data
    ?.filter(({ kind, region_code }) => kind === 'POD' && region_code === volume.region_code)
    .filter(one => one.disks.network_volume === null && instanceCan('attach_volume', one))
    .map(({ instance_id, name }) => ({ value: instance_id, label: name }))
  return (
    <FormDialog opened={opened} onClose={onClose} title={t('attach.of', { name: volume.name })}>
      <AttachVolumeForm
        given={{ volume: volume.id }}
        choices={choices}
        none={t('attach.no_instances')}
        onClose={onClose}
      />
    </FormDialog>
  )
}
