import { Button } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { useTranslation } from 'react-i18next'
import { useFormat } from './format.ts'
import classes from './StaleNote.module.css'

interface StaleNoteProps {
  /** When what is shown came, in milliseconds since 1970. */
  since: number
  onRetry: () => void
}

/** Over figures that stay on the screen while a newer look at them failed: of when they are, and a way to look again. */
export function StaleNote({ since, onRetry }: StaleNoteProps) {
  const { t } = useTranslation('common')
  const format = useFormat()
  return (
    <div className={classes.note} role="status">
      <IconAlertTriangle size={16} stroke={1.6} aria-hidden="true" />
      <span>{t('connection.as_of', { time: format.moment(new Date(since)) })}</span>
      <Button size="xs" variant="default" onClick={onRetry}>
        {t('connection.look')}
      </Button>
    </div>
  )
}
