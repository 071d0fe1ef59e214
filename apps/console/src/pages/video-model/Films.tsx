import type { Creation } from '@berth/contract/creations'
import type { Model } from '@berth/contract/models'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { useOpened } from '../../app/search.ts'
import { useSession } from '../../app/session/session.ts'
import { ListBar } from '../../lists/ListBar.tsx'
import { findText, useFilters } from '../../lists/use-filters.ts'
import { type Creations, isOpenRun, useCreations } from '../../making/creation-queries.ts'
import { DownloadAll } from '../../making/DownloadAll.tsx'
import { MoreRuns } from '../../making/MoreRuns.tsx'
import { NoRunFound } from '../../making/NoRunFound.tsx'
import { StartPrompts } from '../../making/StartPrompts.tsx'
import { Answer } from '../../ui/Answer.tsx'
import { useFormat } from '../../ui/format.ts'
import { FilmCard } from './FilmCard.tsx'
import { FilmProgress } from './FilmProgress.tsx'
import classes from './Films.module.css'
import { FilmThumb } from './FilmThumb.tsx'

const search = z.object({ q: findText })

interface FilmsProps {
  models: readonly Model[]
  /** Puts the settings of a video into the form. */
  onReuse: (run: Creation) => void
  onPrompt: (prompt: string) => void
}

/** What is under way, the video that is shown, and the others; before anything was made, prompts to start from. */
export function Films(props: FilmsProps) {
  const { user } = useSession()
  const filters = useFilters(search)
  const q = filters.values.q.trim()
  const all = useCreations('video', { show: 'all', search: q })
  const open = useCreations('video', { show: 'open', search: '' })
  const { data } = all
  const underWay = open.data?.runs.filter(isOpenRun) ?? []
  if (user === null) return <StartPrompts kind="video" onChoose={props.onPrompt} />
  return (
    <>
      {underWay.map(run => (
        <FilmProgress
          key={run.id}
          listed={run}
          ownBefore={underWay.filter(({ created_at }) => created_at < run.created_at).length}
        />
      ))}
      <Answer query={all} data={data} rows={4}>
        {known =>
          known.runs.length === 0 && q === '' ? (
            <StartPrompts kind="video" onChoose={props.onPrompt} />
          ) : (
            <Kept {...props} data={known} filters={filters} />
          )
        }
      </Answer>
      <MoreRuns query={all} />
    </>
  )
}

type KeptProps = FilmsProps & { data: Creations; filters: ReturnType<typeof useFilters<{ q: string }>> }

function Kept({ data, filters, models, onReuse }: KeptProps) {
  const { t } = useTranslation('making')
  const format = useFormat()
  const [opened, setOpened] = useOpened('video')
  const over = data.runs.filter(run => !isOpenRun(run))
  const shown = over.find(({ id }) => id === opened) ?? over.find(({ items }) => items[0]?.file) ?? over[0]
  const { counts, month_cost_micro: month } = data
  // The first one is under way.
  if (over.length === 0 && filters.values.q === '') return null
  return (
    <div className={classes.kept}>
      {shown && (
        <FilmCard
          key={shown.id}
          run={shown}
          model={models.find(({ id }) => id === shown.model_id)}
          currency={data.currency}
          onReuse={() => onReuse(shown)}
        />
      )}
      <section className={classes.earlier} aria-label={t('films.earlier')}>
        <div className={classes.bar}>
          <h2 className={classes.title}>
            {t('films.earlier')}{' '}
            <span className={classes.second}>
              {counts && t('films.count', { count: counts.all })}
              {month !== null &&
                BigInt(month) > 0n &&
                `, ${t('films.month', { amount: format.exactMoney(month, data.currency) })}`}
            </span>
          </h2>
          <ListBar filters={filters} findLabel={t('runs.find')} end={<DownloadAll kind="video" />} />
        </div>
        {over.length === 0 ? (
          <NoRunFound onShowAll={filters.reset} />
        ) : (
          <ul className={classes.thumbs}>
            {over.map(run => (
              <FilmThumb
                key={run.id}
                run={run}
                currency={data.currency}
                isShown={run === shown}
                onShow={() => setOpened(run.id)}
              />
            ))}
          </ul>
        )}
      </section>
    </div>
  )
}
