import { getNotifications } from '@berth/contract/notifications'
import { getOutlook } from '@berth/contract/outlook'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../../api/queries.ts'
import { useFormat } from '../../../ui/format.ts'
import { REFRESH_MS } from '../refresh.ts'
import classes from './WhatHappens.module.css'
import { type Happening, whatHappens } from './what-happens.ts'

/** What happens by itself when nothing is added, and when; nothing is shown while nothing is used up (B4). */
export function WhatHappens() {
  const { t } = useTranslation('payments')
  const format = useFormat()
  const outlook = useQuery({ ...queryOf(getOutlook, {}), refetchInterval: REFRESH_MS })
  const choice = useQuery(queryOf(getNotifications, {}))
  const text = useHappeningText()
  if (!outlook.data || !choice.data) return null
  const { mails, alert_hours } = choice.data
  const happenings = whatHappens(
    outlook.data,
    mails.balance_low ? alert_hours : [],
    new Date(outlook.dataUpdatedAt),
  )
  if (happenings.length === 0) return null
  return (
    <ol className={classes.moments} aria-label={t('happens.label')}>
      {happenings.map(happening => (
        <li key={`${happening.kind} ${happening.at.getTime()}`} data-kind={happening.kind}>
          <span className={classes.what}>{text(happening)}</span>
          <time className={classes.when} dateTime={happening.at.toISOString()}>
            {happening.kind === 'deletion'
              ? t('happens.earliest', { date: format.date(happening.at) })
              : format.weekdayMoment(happening.at)}
          </time>
        </li>
      ))}
    </ol>
  )
}

function useHappeningText(): (happening: Happening) => string {
  const { t } = useTranslation('payments')
  return happening => {
    if (happening.kind === 'mail') return t('happens.mail', { hours: happening.hours })
    if (happening.kind !== 'deletion') return t(`happens.${happening.kind}`)
    const { what } = happening
    if (what.length > 1) return t('happens.deleted.several')
    return t(`happens.deleted.${what[0] ?? 'machines'}`)
  }
}
