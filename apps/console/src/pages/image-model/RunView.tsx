import { OPEN_CREATION_STATUSES } from '@berth/contract/creation-states'
import {
  type Creation,
  type CreationFile,
  type CreationFilter,
  type CreationItem,
  deleteCreation,
  stopCreation,
} from '@berth/contract/creations'
import { imageCode } from '@berth/contract/model-call-code'
import type { Model } from '@berth/contract/models'
import { Button } from '@mantine/core'
import { IconCode, IconPlayerStop, IconRefresh, IconTrash } from '@tabler/icons-react'
import { Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { told, useChange } from '../../api/use-change.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { ActionMenu } from '../../lists/ActionMenu.tsx'
import { isOpenRun, useRunNow } from '../../making/creation-queries.ts'
import { pixelsOfSize, sizeText } from '../../making/picture-sizes.ts'
import { type RunDialog, RunDialogs } from '../../making/RunDialogs.tsx'
import { useTook } from '../../making/use-took.ts'
import { useFocusBack } from '../../ui/focus-back.ts'
import { useFormat } from '../../ui/format.ts'
import { ImageTile } from './ImageTile.tsx'
import classes from './RunView.module.css'

const ImageDialog = lazyPart(() => import('./ImageDialog.tsx').then(module => module.ImageDialog))

interface RunViewProps {
  /** As the list has it. */
  listed: Creation
  /** Undefined where it is not hosted any more. */
  model: Model | undefined
  currency: string
  /** Which of its pictures are shown. */
  show: CreationFilter
  onReuse: (run: Creation, item?: CreationItem) => void
  onStartFrom: (item: CreationItem, file: CreationFile) => void
  onFilm: ((item: CreationItem, file: CreationFile) => void) | undefined
}

/** A run: its prompt, what came of it and what that cost, and its pictures; each keeps its place, also where it was not made. */
export function RunView({ listed, model, currency, show, onReuse, onStartFrom, onFilm }: RunViewProps) {
  const { t } = useTranslation('making')
  const run = useRunNow(listed)
  const [asked, setAsked] = useState<RunDialog | null>(null)
  const stop = useChange(stopCreation)
  const remove = useChange(deleteCreation)
  const params = { id: run.id }
  const [opened, setOpened] = useState<string | null>(null)
  useFocusBack(opened !== null)
  const shown = run.items.filter(item => isShown(item, show))
  return (
    <article className={classes.run} aria-label={run.prompt}>
      <header className={classes.head}>
        <div className={classes.about}>
          <h2 className={classes.prompt} title={run.prompt}>
            {run.prompt}
          </h2>
          <RunLine run={run} shown={shown.length} currency={currency} />
        </div>
        <div className={classes.ways}>
          {isOpenRun(run) && (
            <Button
              variant="default"
              size="xs"
              loading={stop.busy}
              leftSection={<IconPlayerStop size={14} stroke={1.8} />}
              onClick={() => void stop.send({ params }).catch(told)}
            >
              {t('run.stop')}
            </Button>
          )}
          <Button
            variant="default"
            size="xs"
            leftSection={<IconRefresh size={14} stroke={1.8} />}
            onClick={() => onReuse(run)}
          >
            {t('run.reuse')}
          </Button>
          <Button
            variant="default"
            size="xs"
            leftSection={<IconCode size={14} stroke={1.8} />}
            onClick={() => setAsked('code')}
          >
            {t('run.code')}
          </Button>
          <ActionMenu
            label={t('run.more')}
            items={() => [
              {
                action: 'delete' as const,
                label: t('run.delete'),
                icon: IconTrash,
                reason: null,
                danger: true,
              },
            ]}
            onAsk={() => setAsked('delete')}
          />
        </div>
      </header>
      <ul className={classes.tiles} data-wide={isWide(run.size) || undefined}>
        {shown.map(item => (
          <ImageTile
            key={item.id}
            {...{ run, item, model, currency }}
            onOpen={() => setOpened(item.id)}
            onReuse={() => onReuse(run, item)}
            onStartFrom={file => onStartFrom(item, file)}
            onFilm={onFilm && (file => onFilm(item, file))}
          />
        ))}
      </ul>
      <Suspense>
        {opened !== null && (
          <ImageDialog
            {...{ run, currency, opened }}
            items={shown}
            onShow={setOpened}
            onReuse={item => {
              setOpened(null)
              onReuse(run, item)
            }}
            onClose={() => setOpened(null)}
          />
        )}
      </Suspense>
      <RunDialogs
        asked={asked}
        codeOf={(tool, url) => imageCode(tool, { url, ...factsOf(run) })}
        hasPicture={run.image !== null}
        deleting={{ title: t('run.delete_title'), text: t('run.delete_text', { count: run.items.length }) }}
        onDelete={() => remove.send({ params })}
        onClose={() => setAsked(null)}
      />
    </article>
  )
}

/** When, by what, how large, how many in what time, and what that cost. */
function RunLine({ run, shown, currency }: { run: Creation; shown: number; currency: string }) {
  const { t } = useTranslation('making')
  const format = useFormat()
  const took = useTook()
  const { items, model_name, size, created_at, cost_micro } = run
  const made = items.filter(({ status }) => status === 'saved').length
  const span = took(created_at, items)
  const facts = [
    format.moment(created_at),
    model_name,
    sizeText(size),
    span === null
      ? t('run.making', { made, count: items.length })
      : made === items.length
        ? t('run.made', { count: made, took: span })
        : t('run.made_of', { made, count: items.length, took: span }),
    ...(shown < items.length ? [t('run.shown', { shown, count: items.length })] : []),
  ]
  return (
    <p className={classes.line} role="status">
      {facts.join(' · ')} ·{' '}
      <strong>{t('run.charged', { amount: format.exactMoney(cost_micro, currency) })}</strong>
    </p>
  )
}

/** Whether a picture is of those that are asked for: a run that has one of them is listed. */
function isShown({ starred, status }: CreationItem, show: CreationFilter): boolean {
  if (show === 'starred') return starred
  if (show === 'not_made') return status === 'failed' || status === 'stopped'
  return show === 'all' || OPEN_CREATION_STATUSES.includes(status)
}

/** From this ratio on fewer of them stand beside each other. */
const WIDE_FROM = 1.2

function isWide(size: string): boolean {
  const { width, height } = pixelsOfSize(size)
  return width / height >= WIDE_FROM
}

function factsOf({ model_id, prompt, negative_prompt, count, size, seed, image }: Creation) {
  return {
    model: model_id,
    prompt,
    negativePrompt: negative_prompt,
    count,
    size,
    seed,
    hasPicture: image !== null,
  }
}
