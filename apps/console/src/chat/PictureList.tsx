import { ActionIcon, Loader } from '@mantine/core'
import { IconAlertTriangle, IconX } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { bytesText } from '../ui/bytes.ts'
import classes from './PictureList.module.css'
import { type PictureLimits, typeNames } from './picture-check.ts'
import type { Attached } from './use-pictures.ts'

interface PictureListProps {
  attached: readonly Attached[]
  limits: PictureLimits
  onRemove: (id: string) => void
}

/** The pictures of the message that is written; each says its size, or why it is not sent. */
export function PictureList({ attached, limits, onRemove }: PictureListProps) {
  const { t } = useTranslation('chat')
  if (attached.length === 0) return null
  return (
    <ul className={classes.list} aria-label={t('pictures.list')}>
      {attached.map(one => (
        <li key={one.id} className={classes.picture} data-refused={one.state === 'refused' || undefined}>
          <span className={classes.mark}>
            {one.state === 'ready' && <img src={one.address} alt="" />}
            {one.state === 'reading' && <Loader size={14} />}
            {one.state === 'refused' && <IconAlertTriangle size={16} stroke={1.6} aria-hidden="true" />}
          </span>
          <span className={classes.about}>
            <span className={classes.name}>{one.name}</span>
            <Said one={one} limits={limits} />
          </span>
          <ActionIcon
            size="sm"
            color="gray"
            aria-label={t('pictures.remove', { name: one.name })}
            onClick={() => onRemove(one.id)}
          >
            <IconX size={14} stroke={1.6} />
          </ActionIcon>
        </li>
      ))}
    </ul>
  )
}

function Said({ one, limits }: { one: Attached; limits: PictureLimits }) {
  const { t } = useTranslation('chat')
  const size = bytesText(one.size)
  if (one.state === 'ready') return <span className={classes.said}>{size}</span>
  if (one.state === 'reading')
    return <span className={classes.said}>{t('pictures.reading', { percent: one.percent, size })}</span>
  return (
    <span className={classes.said} role="alert">
      {t(`pictures.${one.fault}`, {
        size,
        count: limits.count_max,
        most: bytesText(limits.bytes_max),
        type: typeNames([one.type || one.name.replace(/^.*\./, '')]),
      })}
    </span>
  )
}
