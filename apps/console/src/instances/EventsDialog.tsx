import type { Instance } from '@berth/contract/instances'
import { Modal } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Answer } from '../ui/Answer.tsx'
import { EventWords } from '../ui/EventWords.tsx'
import { INSTANCE_STATUS_LOOKS, StatusBadge } from '../ui/StatusBadge.tsx'
import { EventList } from './EventList.tsx'
import classes from './EventsDialog.module.css'
import type { InstanceDialogProps } from './instance-dialog.ts'
import { useInstanceTexts } from './instance-texts.ts'
import { MachineNotes, StartCommand } from './MachineFacts.tsx'
import { useEvents } from './use-events.ts'

/** What happened to an instance, newest first, and what its machine cannot do (B6). */
export function EventsDialog({ instance, opened, onClose }: InstanceDialogProps) {
  const { t } = useTranslation(['instances', 'common'])
  const query = useEvents(instance, opened)
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t('events_dialog.title', { name: instance.name })}
      closeButtonProps={{ 'aria-label': t('common:dialog.close') }}
      size={600}
    >
      <div className={classes.body}>
        <Now instance={instance} />
        <Answer query={query} data={query.data} rows={4}>
          {events => (
            <section>
              <h3>{t('events_dialog.happened')}</h3>
              <EventList events={events} />
            </section>
          )}
        </Answer>
        {instance.start_command !== '' && (
          <section>
            <h3>{t('events_dialog.command')}</h3>
            <StartCommand instance={instance} />
          </section>
        )}
        {instance.machine && (
          <section>
            <h3>{t('events_dialog.machine')}</h3>
            <MachineNotes machine={instance.machine} />
          </section>
        )}
      </div>
    </Modal>
  )
}

function Now({ instance }: { instance: Instance }) {
  const { t } = useTranslation(['instances', 'common'])
  const texts = useInstanceTexts()
  return (
    <div className={classes.now}>
      <StatusBadge
        look={INSTANCE_STATUS_LOOKS[instance.status]}
        label={t(`common:status.${instance.status}`)}
        reason={texts.underStatus(instance)}
      />
      {instance.reason?.detail && (
        <div className={classes.said}>
          <EventWords detail={instance.reason.detail} of="reason" />
        </div>
      )}
    </div>
  )
}
