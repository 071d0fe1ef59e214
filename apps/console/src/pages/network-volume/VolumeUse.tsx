import type { Volume } from '@berth/contract/volumes'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../../ui/format.ts'
import classes from './NetworkVolumePage.module.css'

const BYTES_PER_GB = 1024 ** 3
const PERCENT = 100
/** Below this a volume is said with a decimal. */
const WHOLE_FROM_GB = 10

/** How much of a volume is used, in a line and a bar; in words where that is not known. */
export function VolumeUse({ volume }: { volume: Volume }) {
  const { t } = useTranslation('volumes')
  const format = useFormat()
  const { used_bytes, size_gb, measure_trouble, near_full, over_since } = volume
  if (used_bytes === null) {
    const why = measure_trouble === 'too_long' ? 'used.too_long' : 'used.not_measured'
    return <span className={classes.quiet}>{t(why)}</span>
  }
  const gb = shownGb(used_bytes / BYTES_PER_GB)
  const of = t('used.of', { used: format.number(gb), size: format.number(size_gb) })
  if (volume.status === 'deleting' || volume.status === 'error') {
    return <span className={classes.quiet}>{t('used.last_seen', { of })}</span>
  }
  const percent = Math.floor((used_bytes * PERCENT) / (size_gb * BYTES_PER_GB))
  const isFull = near_full || over_since !== null
  const leftGb = size_gb - used_bytes / BYTES_PER_GB
  const left =
    leftGb < 0
      ? t('used.over', { gb: format.number(shownGb(-leftGb)) })
      : t('used.left', { gb: format.number(shownGb(leftGb)) })
  return (
    <div className={classes.use} data-full={isFull || undefined}>
      <span className={classes.useWords}>
        <span>{of}</span>
        <span>{isFull ? left : t('used.percent', { percent })}</span>
      </span>
      <span className={classes.bar} aria-hidden="true">
        <span style={{ width: `${Math.min(PERCENT, percent)}%` }} />
      </span>
    </div>
  )
}

/** Whole from ten on; nothing that is there is said to be none. */
function shownGb(gb: number): number {
  if (gb >= WHOLE_FROM_GB) return Math.round(gb)
  return Math.ceil(gb * 10) / 10
}
