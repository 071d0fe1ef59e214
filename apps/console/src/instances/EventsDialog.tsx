import type { CallData } from '@berth/contract/call'
import { CHANGING_STATUSES } from '@berth/contract/instance-states'
import { type Instance, listInstanceEvents } from '@berth/contract/instances'
import { Modal } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../api/queries.ts'
import { Answer } from '../ui/Answer.tsx'
import { EventWords } from '../ui/EventWords.tsx'
import { useFormat } from '../ui/format.ts'
import { INSTANCE_STATUS_LOOKS, StatusBadge } from '../ui/StatusBadge.tsx'
import { TechnicalDetail } from '../ui/TechnicalDetail.tsx'
import classes from './EventsDialog.module.css'
import type { InstanceDialogProps } from './instance-dialog.ts'
import { useInstanceTexts } from './instance-texts.ts'

/** While something changes, its events come by the second. */
const REFRESH_CHANGING_MS = 2_000
const REFRESH_RESTING_MS = 15_000

/** What happened to an instance, newest first, and what its machine cannot do (B6). */
export function EventsDialog({ instance, opened, onClose }: InstanceDialogProps) {
  const { t } = useTranslation(['instances', 'common'])
  const changing = CHANGING_STATUSES.includes(instance.status)
  const query = useQuery({
    ...queryOf(listInstanceEvents, { params: { id: instance.instance_id } }),
    enabled: opened,
    staleTime: 0,
    refetchInterval: changing ? REFRESH_CHANGING_MS : REFRESH_RESTING_MS,
  })
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
          {events => <EventList events={events} />}
        </Answer>
        {instance.start_command !== '' && <StartCommand instance={instance} />}
        {instance.machine && <MachineNotes machine={instance.machine} />}
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

function EventList({ events }: { events: CallData<typeof listInstanceEvents> }) {
  const { t } = useTranslation(['instances', 'events'])
  const format = useFormat()
  return (
    <section>
      <h3>{t('events_dialog.happened')}</h3>
      <ol className={classes.list}>
        {events.map(event => (
          <li key={event.id}>
            <time className={classes.when} dateTime={event.at} title={event.at}>
              {format.moment(event.at)}
            </time>
            <span>
              {t(`events:event.${event.code}`, { defaultValue: event.code })}
              {event.detail && (
                <EventWords detail={event.detail} of={event.code} className={classes.detail} />
              )}
            </span>
          </li>
        ))}
      </ol>
    </section>
  )
}

function StartCommand({ instance }: { instance: Instance }) {
  const { t } = useTranslation('instances')
  return (
    <section>
      <h3>{t('events_dialog.command')}</h3>
      <p className={`${classes.command} mono`}>{instance.start_command}</p>
      <p className={classes.detail}>{t(`events_dialog.then.${instance.on_command_end}`)}</p>
    </section>
  )
}

function MachineNotes({ machine }: { machine: NonNullable<Instance['machine']> }) {
  const { t } = useTranslation('instances')
  return (
    <section>
      <h3>{t('events_dialog.machine')}</h3>
      <ul className={classes.notes}>
        <li>{t('events_dialog.driver', { driver: machine.driver })}</li>
        {machine.notes.map(({ code, values }) => (
          <li key={code}>{t(`events_dialog.note.${code}`, values)}</li>
        ))}
      </ul>
      <TechnicalDetail lines={machine.notes.map(({ detail }) => detail)} />
    </section>
  )
}
