import { Modal } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Answer } from '../ui/Answer.tsx'
import { DoctorPart } from './DoctorPart.tsx'
import type { InstanceDialogProps } from './instance-dialog.ts'
import { useWays } from './use-ways.ts'
import { Ways } from './Ways.tsx'

/** The ways into an instance: HTTP services, web terminal, SSH, direct TCP and UDP ports (R2.23). */
export function ConnectDialog({ instance, opened, onClose }: InstanceDialogProps) {
  const { t } = useTranslation(['instances', 'common'])
  const query = useWays(instance.instance_id, opened)
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t('connect.title', { name: instance.name })}
      closeButtonProps={{ 'aria-label': t('common:dialog.close') }}
      size={680}
    >
      <Answer query={query} data={query.data} rows={4}>
        {connection => <Ways connection={connection} ownAddress={instance.eip?.type === 'dedicated'} />}
      </Answer>
      <DoctorPart instanceId={instance.instance_id} />
    </Modal>
  )
}
