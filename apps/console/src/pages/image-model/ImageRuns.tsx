import {
  CREATION_FILTERS,
  type Creation,
  type CreationFile,
  type CreationFilter,
  type CreationItem,
} from '@berth/contract/creations'
import type { Model } from '@berth/contract/models'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { useSession } from '../../app/session/session.ts'
import { ListBar } from '../../lists/ListBar.tsx'
import { findText, useFilters } from '../../lists/use-filters.ts'
import { type Creations, useCreations } from '../../making/creation-queries.ts'
import { DownloadAll } from '../../making/DownloadAll.tsx'
import { MoreRuns } from '../../making/MoreRuns.tsx'
import { NoRunFound } from '../../making/NoRunFound.tsx'
import { StartPrompts } from '../../making/StartPrompts.tsx'
import { Answer } from '../../ui/Answer.tsx'
import { SegmentedFilter } from '../../ui/SegmentedFilter.tsx'
import classes from './ImageRuns.module.css'
import { RunView } from './RunView.tsx'

const search = z.object({
  show: z.enum(CREATION_FILTERS).catch('all'),
  q: findText,
})

/** What of all is offered to be shown; what is under way is among all. */
const SHOWN = ['all', 'starred', 'not_made'] as const

export interface ImageRunsProps {
  models: readonly Model[]
  /** Puts the settings of a run, or of one of its pictures, into the form. */
  onReuse: (run: Creation, item?: CreationItem) => void
  /** Has the next pictures made after one. */
  onStartFrom: (item: CreationItem, file: CreationFile) => void
  /** Has a video begin with one; left out where no model does that. */
  onFilm: ((item: CreationItem, file: CreationFile) => void) | undefined
  onPrompt: (prompt: string) => void
}

/** What was made, by runs; before anything was, prompts to start from. */
export function ImageRuns(props: ImageRunsProps) {
  const { user } = useSession()
  if (user === null) return <StartPrompts kind="image" onChoose={props.onPrompt} />
  return <OwnRuns {...props} />
}

function OwnRuns(props: ImageRunsProps) {
  const { t } = useTranslation('making')
  const filters = useFilters(search)
  const { show, q } = filters.values
  const query = useCreations('image', { show, search: q.trim() })
  const counts = query.data?.counts
  const isFirst = counts !== undefined && counts !== null && counts.all === 0
  return (
    <>
      {!isFirst && (
        <ListBar
          filters={filters}
          findLabel={t('runs.find')}
          end={
            query.data && (
              <>
                <span className={classes.kept}>{t('runs.kept', { count: query.data.kept_days })}</span>
                <DownloadAll kind="image" />
              </>
            )
          }
        >
          <SegmentedFilter
            label={t('runs.show')}
            value={show}
            onChange={value => filters.change({ show: value })}
            options={SHOWN.map(value => ({
              value,
              label: t(`runs.${value}`),
              ...(counts && { count: counts[value] }),
            }))}
          />
        </ListBar>
      )}
      <Answer query={query} data={query.data} rows={4}>
        {data =>
          data.runs.length > 0 ? (
            <Runs {...props} data={data} show={show} />
          ) : isFirst ? (
            <StartPrompts kind="image" onChoose={props.onPrompt} />
          ) : (
            <NoRunFound onShowAll={filters.reset} />
          )
        }
      </Answer>
      <MoreRuns query={query} />
    </>
  )
}

function Runs({
  data,
  models,
  show,
  onReuse,
  onStartFrom,
  onFilm,
}: ImageRunsProps & { data: Creations; show: CreationFilter }) {
  return (
    <div className={classes.runs}>
      {data.runs.map(run => (
        <RunView
          key={run.id}
          listed={run}
          model={models.find(({ id }) => id === run.model_id)}
          currency={data.currency}
          show={show}
          onReuse={onReuse}
          onStartFrom={onStartFrom}
          onFilm={onFilm}
        />
      ))}
    </div>
  )
}
