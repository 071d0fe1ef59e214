import { type Creation, type CreationItem, notifyCreation, stopCreation } from '@berth/contract/creations'
import { Button, Loader, Switch } from '@mantine/core'
import { IconPlayerStop } from '@tabler/icons-react'
import type { CSSProperties } from 'react'
import { useTranslation } from 'react-i18next'
import { told, useChange } from '../../api/use-change.ts'
import { useOffFor } from '../../app/session/use-off-for.ts'
import { othersBefore, useOutlook, useRunNow } from '../../making/creation-queries.ts'
import { filmPercent } from '../../making/film-percent.ts'
import { sizeText } from '../../making/picture-sizes.ts'
import { useFormat } from '../../ui/format.ts'
import classes from './FilmProgress.module.css'
import { FILM_STEPS, leftSeconds, stepAt } from './film-steps.ts'

const MS = 1_000
/** Of what does not say how far it is. */
const HALF_PERCENT = 50

interface FilmProgressProps {
  /** As the list has it. */
  listed: Creation
  /** How many of the customer's own are before it: those are seen beside it, and are not told as others. */
  ownBefore: number
}

/** A video that is being made: at which step it is, how far, how long still, and the way to stop it. */
export function FilmProgress({ listed, ownBefore }: FilmProgressProps) {
  const { t } = useTranslation('making')
  const format = useFormat()
  const run = useRunNow(listed)
  const outlook = useOutlook(run.model_id)
  const stop = useChange(stopCreation)
  const [film] = run.items
  if (!film) return null
  const percent = filmPercent(film)
  const left = leftSeconds(film, run, outlook, Date.now())
  return (
    <article className={classes.card} aria-label={t('progress.label', { prompt: run.prompt })}>
      <header className={classes.head}>
        <Loader size={14} />
        <h2 className={classes.prompt} title={run.prompt}>
          {run.prompt}
        </h2>
        <span className={classes.facts}>
          {[
            t('units.seconds', { value: run.seconds }),
            sizeText(run.size),
            t('picture.seed', { seed: run.seed }),
          ].join(' · ')}
        </span>
        <span className={classes.end}>
          <strong className={classes.percent}>{t('progress.percent', { percent })}</strong>
          <Button
            variant="default"
            size="xs"
            loading={stop.busy}
            leftSection={<IconPlayerStop size={14} stroke={1.8} />}
            onClick={() => void stop.send({ params: { id: run.id } }).catch(told)}
          >
            {t('run.stop')}
          </Button>
        </span>
      </header>
      <Steps film={film} ownBefore={ownBefore} />
      {/* Each step is said once; each percent would be a flood. */}
      <p className="said" role="status">
        {t(`progress.${film.status}`)}
      </p>
      <footer className={classes.foot}>
        <p className={classes.note}>
          {left !== null && t('progress.left', { span: format.duration(left) })} {t('progress.may_leave')}
        </p>
        <MailSwitch run={run} />
      </footer>
    </article>
  )
}

function Steps({ film, ownBefore }: { film: CreationItem; ownBefore: number }) {
  const { t } = useTranslation('making')
  const format = useFormat()
  const now = stepAt(film.status)
  const { progress, rendering_at, created_at } = film
  const others = othersBefore(film.waiting_before ?? 0, ownBefore)
  const said: Partial<Record<(typeof FILM_STEPS)[number], string | null>> = {
    queued:
      rendering_at !== null
        ? format.duration((Date.parse(rendering_at) - Date.parse(created_at)) / MS)
        : others > 0
          ? t('tile.waiting', { count: others })
          : null,
    rendering:
      film.status === 'rendering' && progress?.frame != null && progress.frames != null
        ? t('progress.frame', { frame: progress.frame, frames: progress.frames })
        : null,
  }
  return (
    <ol className={classes.steps}>
      {FILM_STEPS.map((step, at) => {
        const part = at < now ? 100 : at > now ? 0 : partOf(step, progress)
        return (
          <li key={step} className={classes.step} aria-current={at === now ? 'step' : undefined}>
            <span className={classes.bar} style={{ '--part': `${part}%` } as CSSProperties} />
            <span className={classes.name}>{t(`progress.${step}`)}</span>
            {said[step] && <span className={classes.said}>{said[step]}</span>}
          </li>
        )
      })}
    </ol>
  )
}

/** How much of the step at which it is has passed, in percent; waiting is nothing that passes. */
function partOf(step: (typeof FILM_STEPS)[number], progress: CreationItem['progress']): number {
  if (step === 'rendering') return progress?.percent ?? 0
  return step === 'encoding' ? HALF_PERCENT : 0
}

/** Whether a mail tells when it is ready. */
function MailSwitch({ run }: { run: Creation }) {
  const { t } = useTranslation('making')
  const change = useChange(notifyCreation)
  const off = useOffFor(notifyCreation)
  return (
    <Switch
      className={classes.mail ?? ''}
      label={t('progress.mail')}
      checked={run.mail}
      disabled={off !== null || change.busy}
      title={off ?? undefined}
      onChange={event =>
        void change.send({ params: { id: run.id }, body: { mail: event.currentTarget.checked } }).catch(told)
      }
    />
  )
}
