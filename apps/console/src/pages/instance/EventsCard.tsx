import type { Instance } from '@berth/contract/instances'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { EventList } from '../../instances/EventList.tsx'
import { useEvents } from '../../instances/use-events.ts'
import { Answer } from '../../ui/Answer.tsx'
import { Card } from '../../ui/Card.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'

/** What one looks at without asking for more. */
const SHOWN_MAX = 6

/** What happened to the instance, the newest first, with who or what caused it. */
export function EventsCard({ instance }: { instance: Instance }) {
  const { t } = useTranslation('instance')
  const query = useEvents(instance)
  const [all, setAll] = useState(false)
  const count = query.data?.length ?? 0
  return (
    <Card
      title={t('events.title')}
      aside={
        count > SHOWN_MAX && (
          <LinkButton aria-expanded={all} onClick={() => setAll(!all)}>
            {all ? t('events.fewer') : t('events.all', { number: count })}
          </LinkButton>
        )
      }
    >
      <Answer query={query} data={query.data} rows={3}>
        {events => <EventList events={all ? events : events.slice(0, SHOWN_MAX)} />}
      </Answer>
    </Card>
  )
}
