import { type Creation, type CreationFile, type CreationItem, starCreation } from '@berth/contract/creations'
import type { Model } from '@berth/contract/models'
import { ActionIcon, Button, Loader } from '@mantine/core'
import {
  IconAlertTriangle,
  IconDownload,
  IconMovie,
  IconPhotoPlus,
  IconPlayerStop,
  IconRefresh,
  IconStar,
  IconStarFilled,
} from '@tabler/icons-react'
import type { CSSProperties } from 'react'
import { useTranslation } from 'react-i18next'
import { told, useChange } from '../../api/use-change.ts'
import { downloadOf } from '../../making/file-address.ts'
import { pixelsOfSize } from '../../making/picture-sizes.ts'
import { RetryButton } from '../../making/RetryButton.tsx'
import { useFormat } from '../../ui/format.ts'
import classes from './ImageTile.module.css'

interface ImageTileProps {
  run: Creation
  item: CreationItem
  model: Model | undefined
  currency: string
  /** Shows it large. */
  onOpen: () => void
  onReuse: () => void
  onStartFrom: (file: CreationFile) => void
  onFilm: ((file: CreationFile) => void) | undefined
}

/** One picture of a run in its place: made, being made, or why it was not, with its seed and what it cost. */
export function ImageTile(props: ImageTileProps) {
  const { run, item, currency } = props
  const format = useFormat()
  const { width, height } = pixelsOfSize(run.size)
  const { status, file } = item
  return (
    <li className={classes.tile}>
      <div className={classes.place}>
        <div
          className={classes.frame}
          data-state={status}
          style={{ '--shape': `${width || 1} / ${height || 1}` } as CSSProperties}
        >
          {file ? (
            <Picture {...props} file={file} />
          ) : status === 'failed' || status === 'stopped' ? (
            <NotMade {...props} />
          ) : (
            <UnderWay item={item} />
          )}
        </div>
        {file && <Ways {...props} file={file} />}
      </div>
      <p className={classes.caption}>
        <span>{item.seed}</span>
        <span>{format.exactMoney(item.cost_micro, currency)}</span>
      </p>
    </li>
  )
}

function Picture({ run, item, onOpen, file }: ImageTileProps & { file: CreationFile }) {
  const { t } = useTranslation('making')
  const star = useChange(starCreation)
  const { seed, starred } = item
  const starWords = t(starred ? 'tile.unstar' : 'tile.star')
  return (
    <>
      <button type="button" className={classes.open} aria-haspopup="dialog" onClick={onOpen}>
        <img
          className={classes.picture}
          src={file.url}
          alt={t('tile.alt', { prompt: run.prompt, seed })}
          loading="lazy"
          decoding="async"
        />
      </button>
      <div className={classes.star} data-starred={starred || undefined}>
        <ActionIcon
          variant="default"
          size="sm"
          aria-label={starWords}
          aria-pressed={starred}
          title={starWords}
          onClick={() => void star.send({ params: { id: item.id }, body: { starred: !starred } }).catch(told)}
        >
          {starred ? <IconStarFilled size={14} /> : <IconStar size={14} stroke={1.8} />}
        </ActionIcon>
      </div>
    </>
  )
}

/** What is done with a picture: over it for a pointer that can rest on it, below it for a finger. */
function Ways({ item, model, onReuse, onStartFrom, onFilm, file }: ImageTileProps & { file: CreationFile }) {
  const { t } = useTranslation('making')
  const { seed } = item
  return (
    <div className={classes.ways}>
      <Button
        variant="default"
        size="xs"
        className={classes.reuse ?? ''}
        leftSection={<IconRefresh size={14} stroke={1.8} />}
        title={t('tile.reuse_title')}
        onClick={onReuse}
      >
        {t('tile.reuse')}
      </Button>
      <ActionIcon
        component="a"
        href={downloadOf(file)}
        download
        variant="default"
        size="sm"
        aria-label={t('tile.download', { seed })}
        title={t('tile.download', { seed })}
      >
        <IconDownload size={15} stroke={1.8} />
      </ActionIcon>
      {model?.image_input && (
        <ActionIcon
          variant="default"
          size="sm"
          aria-label={t('tile.start_from')}
          title={t('tile.start_from')}
          onClick={() => onStartFrom(file)}
        >
          <IconPhotoPlus size={15} stroke={1.8} />
        </ActionIcon>
      )}
      {onFilm && (
        <ActionIcon
          variant="default"
          size="sm"
          aria-label={t('tile.film')}
          title={t('tile.film')}
          onClick={() => onFilm(file)}
        >
          <IconMovie size={15} stroke={1.8} />
        </ActionIcon>
      )}
    </div>
  )
}

function UnderWay({ item }: { item: CreationItem }) {
  const { t } = useTranslation('making')
  const { waiting_before: before, progress } = item
  return (
    <div className={classes.state}>
      <Loader size={18} />
      <p className={classes.why}>
        {item.status === 'queued'
          ? before === null || before === 0
            ? t('tile.next')
            : t('tile.waiting', { count: before })
          : progress && progress.percent > 0
            ? t('tile.percent', { percent: progress.percent })
            : t('tile.making')}
      </p>
    </div>
  )
}

/** Its place stays; what it would have cost was not charged. */
function NotMade({ item, model, currency }: ImageTileProps) {
  const { t } = useTranslation('making')
  const isStopped = item.status === 'stopped'
  const Icon = isStopped ? IconPlayerStop : IconAlertTriangle
  return (
    <div className={classes.state} data-failed={!isStopped || undefined}>
      <Icon size={18} stroke={1.6} aria-hidden="true" className={classes.sign} />
      <p className={classes.title}>{t(isStopped ? 'tile.stopped' : 'tile.not_made')}</p>
      <p className={classes.why}>
        {item.error?.message} {t('tile.not_charged')}
      </p>
      {model && <RetryButton {...{ item, model, currency }} units={{ images: 1 }} begun={t('image.begun')} />}
    </div>
  )
}
