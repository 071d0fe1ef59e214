import { ActionIcon, Button, Progress } from '@mantine/core'
import { IconPlayerPause, IconPlayerPlay, IconRefresh, IconX } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { bytesText } from '../../../ui/bytes.ts'
import { useFormat } from '../../../ui/format.ts'
import classes from './Files.module.css'
import { nameOf } from './paths.ts'
import { isOver, type Upload, type UploadStage, type Uploads } from './uploads.ts'

/** More rows help nobody; the sum stands over them. */
const ROWS_MAX = 50

/** What wants somebody comes first, then what moves, then what waits. */
const ORDER: Record<UploadStage, number> = {
  failed: 0,
  asks: 1,
  again: 2,
  running: 3,
  paused: 4,
  waiting: 5,
  done: 6,
  same: 7,
  skipped: 8,
}

/** What is on its way into the instance, each with what can be done about it. */
export function TransferList({ uploads, list }: { uploads: Uploads; list: readonly Upload[] }) {
  const { t } = useTranslation('files')
  const format = useFormat()
  const over = list.filter(({ stage }) => isOver(stage))
  const sizeOf = (some: readonly Upload[]) => some.reduce((sum, { size }) => sum + size, 0)
  const sent = list.reduce((sum, { sent: bytes }) => sum + bytes, 0)
  const rows = list.toSorted((a, b) => ORDER[a.stage] - ORDER[b.stage]).slice(0, ROWS_MAX)
  return (
    <section className={classes.transfers} aria-label={t('transfers.title')}>
      <div className={classes.sum}>
        <span role="status">
          {t('transfers.sum', {
            done: format.number(over.length),
            all: format.number(list.length),
            sent: bytesText(sent),
            size: bytesText(sizeOf(list)),
          })}
        </span>
        {over.length > 0 && (
          <Button variant="subtle" size="compact-sm" onClick={uploads.clear}>
            {t('transfers.clear')}
          </Button>
        )}
      </div>
      <ul className={classes.rows}>
        {rows.map(upload => (
          <TransferRow key={upload.id} upload={upload} uploads={uploads} />
        ))}
      </ul>
      {list.length > ROWS_MAX && (
        <p className={classes.hint}>
          {t('transfers.more', { count: list.length - ROWS_MAX, number: list.length - ROWS_MAX })}
        </p>
      )}
    </section>
  )
}

function TransferRow({ upload, uploads }: { upload: Upload; uploads: Uploads }) {
  const { t } = useTranslation('files')
  const { id, path, size, sent, stage, why } = upload
  const name = nameOf(path)
  const percent = size === 0 ? (isOver(stage) ? 100 : 0) : Math.floor((sent / size) * 100)
  const button = (label: 'pause' | 'resume' | 'retry' | 'cancel', Icon: typeof IconX, act: () => void) => (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="sm"
      aria-label={t(`transfers.${label}`, { name })}
      title={t(`transfers.${label}`, { name })}
      onClick={act}
    >
      <Icon size={16} stroke={1.6} />
    </ActionIcon>
  )
  return (
    <li className={classes.transfer} data-stage={stage}>
      <div className={classes.what}>
        <bdi className={classes.transferName} title={path}>
          {name}
        </bdi>
        <span className={classes.state}>
          {t(`stage.${stage}`)}
          {!isOver(stage) && ` · ${t('transfers.of', { sent: bytesText(sent), size: bytesText(size) })}`}
          {upload.bytesPerS !== null && ` · ${t('transfers.rate', { rate: bytesText(upload.bytesPerS) })}`}
        </span>
        {why !== null && <span className={classes.why}>{why}</span>}
      </div>
      {!isOver(stage) && (
        <Progress
          value={percent}
          size={4}
          className={classes.progress}
          aria-label={t('transfers.progress', { name })}
        />
      )}
      <div className={classes.acts}>
        {(stage === 'running' || stage === 'waiting' || stage === 'again') &&
          button('pause', IconPlayerPause, () => uploads.pause(id))}
        {stage === 'paused' && button('resume', IconPlayerPlay, () => uploads.resume(id))}
        {stage === 'failed' && button('retry', IconRefresh, () => uploads.resume(id))}
        {!isOver(stage) && button('cancel', IconX, () => uploads.cancel(id))}
      </div>
    </li>
  )
}
