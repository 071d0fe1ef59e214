import type { CallData } from '@berth/contract/call'
import type { listInstanceEvents } from '@berth/contract/instances'
import { useTranslation } from 'react-i18next'
import { EventWords } from '../ui/EventWords.tsx'
import { useFormat } from '../ui/format.ts'
import classes from './EventList.module.css'
import { causeOf } from './event-cause.ts'

/** What happened to an instance, newest first, with who or what caused it and what more is known. */
export function EventList({ events }: { events: CallData<typeof listInstanceEvents> }) {
  const { t } = useTranslation(['instances', 'events'])
  const format = useFormat()
  return (
    <div className={classes.room}>
      <ol className={classes.list}>
        {events.map(event => (
          <li key={event.id}>
            <time className={classes.when} dateTime={event.at} title={event.at}>
              {format.moment(event.at)}
            </time>
            <span>
              {t(`events:event.${event.code}`, { defaultValue: event.code })}
              <span className={classes.detail}>{t(`cause.${causeOf(event.code)}`)}</span>
              {event.detail && (
                <EventWords detail={event.detail} of={event.code} className={classes.detail} />
              )}
            </span>
          </li>
        ))}
      </ol>
    </div>
  )
}
