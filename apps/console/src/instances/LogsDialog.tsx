import { Modal } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { InstanceDialogProps } from './instance-dialog.ts'
import { LogPanel } from './logs/LogPanel.tsx'

/** What an instance's start command writes, beside the list (B9). */
export function LogsDialog({ instance, opened, onClose }: InstanceDialogProps) {
  const { t } = useTranslation(['instances', 'common'])
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t('logs_dialog.title', { name: instance.name })}
      closeButtonProps={{ 'aria-label': t('common:dialog.close') }}
      size={960}
    >
      <LogPanel instance={instance} title={null} />
    </Modal>
  )
}
