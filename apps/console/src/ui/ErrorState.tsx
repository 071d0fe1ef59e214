import { Button } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import classes from './Placeholder.module.css'

interface ErrorStateProps {
  /** What failed, as the error says it. */
  message: string
  /** The request's id, which support finds in the log. */
  requestId?: string | null
  onRetry?: () => void
}

/** Something that could not be loaded: why, and a way to try again. */
export function ErrorState({ message, requestId, onRetry }: ErrorStateProps) {
  const { t } = useTranslation('common')
  return (
    <div className={classes.placeholder} role="alert">
      <p className={classes.title}>{t('error_state.title')}</p>
      <p className={classes.hint}>{message}</p>
      {requestId && <p className={`${classes.hint} mono`}>{requestId}</p>}
      {onRetry && (
        <div className={classes.action}>
          <Button variant="default" onClick={onRetry}>
            {t('error_state.retry')}
          </Button>
        </div>
      )}
    </div>
  )
}
