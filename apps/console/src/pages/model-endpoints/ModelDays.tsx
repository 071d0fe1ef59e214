import { listModelDays, type ModelDay } from '@berth/contract/model-figures'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { Card } from '../../ui/Card.tsx'
import { useFormat } from '../../ui/format.ts'
import classes from './ModelDays.module.css'

/** From so many of a thousand on a day counts as good; below the second as bad. */
const GOOD_PERMILLE = 990
const FAIR_PERMILLE = 950

/** How a model has answered here, day by day; a day that was not measured is said to be so. Nothing where it cannot be read. */
export function ModelDays({ modelId }: { modelId: string }) {
  const { t } = useTranslation('models')
  const { data } = useQuery({
    ...queryOf(listModelDays, { query: { model: modelId } }),
    meta: { silent: true },
  })
  if (!data) return null
  return (
    <Card title={t('days.title')}>
      <ol className={classes.days} aria-label={t('days.title')}>
        {data.map(day => (
          <Day key={day.day} day={day} />
        ))}
      </ol>
      <p className={classes.ends} aria-hidden="true">
        <span>{t('days.ago', { count: data.length })}</span>
        <span>{t('days.today')}</span>
      </p>
    </Card>
  )
}

function Day({ day: { day, calls, answered_permille: permille } }: { day: ModelDay }) {
  const { t } = useTranslation('models')
  const format = useFormat()
  const date = format.date(`${day}T12:00:00.000Z`)
  const said =
    permille === null
      ? t('days.unknown', { date })
      : t('days.answered', {
          date,
          share: format.number(permille / 10),
          count: calls,
          calls: format.number(calls),
        })
  return (
    <li className={classes.day} data-look={lookOf(permille)} title={said}>
      <span className="said">{said}</span>
    </li>
  )
}

function lookOf(permille: number | null): 'unknown' | 'good' | 'fair' | 'bad' {
  if (permille === null) return 'unknown'
  if (permille >= GOOD_PERMILLE) return 'good'
  return permille >= FAIR_PERMILLE ? 'fair' : 'bad'
}
