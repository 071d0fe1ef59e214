import type { Creation } from '@berth/contract/creations'
import { IconAlertTriangle, IconPlayerStop } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../../ui/format.ts'
import classes from './FilmThumb.module.css'
import { lengthText } from './film-length.ts'

interface FilmThumbProps {
  run: Creation
  currency: string
  isShown: boolean
  onShow: () => void
}

/** A video among the others: how it begins, how long it is, what it cost; one that was not made keeps its place. */
export function FilmThumb({ run, currency, isShown, onShow }: FilmThumbProps) {
  const { t } = useTranslation('making')
  const format = useFormat()
  const [film] = run.items
  const file = film?.file ?? null
  const isStopped = film?.status === 'stopped'
  const about = file
    ? [format.moment(run.created_at), format.exactMoney(run.cost_micro, currency)].join(' · ')
    : t(isStopped ? 'films.stopped' : 'films.not_made')
  return (
    <li className={classes.thumb}>
      <button
        type="button"
        className={classes.choice}
        aria-label={[run.prompt, !file && about].filter(Boolean).join(', ')}
        aria-pressed={isShown}
        onClick={onShow}
      >
        <span className={classes.frame}>
          {file ? (
            // A film of a thumb's size is only looked at; the player has its sound and its controls.
            <video
              className={classes.film}
              src={`${file.url}#t=0.1`}
              preload="metadata"
              muted
              playsInline
              tabIndex={-1}
            />
          ) : isStopped ? (
            <IconPlayerStop size={18} stroke={1.6} aria-hidden="true" />
          ) : (
            <IconAlertTriangle size={18} stroke={1.6} aria-hidden="true" className={classes.bad} />
          )}
          {file && <span className={classes.length}>{lengthText(run.seconds ?? 0)}</span>}
        </span>
        <span className={classes.name} title={run.prompt}>
          {run.prompt}
        </span>
        <span className={classes.second} data-failed={film?.status === 'failed' || undefined}>
          {about}
        </span>
      </button>
    </li>
  )
}
