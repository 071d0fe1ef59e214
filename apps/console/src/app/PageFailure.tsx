import type { ErrorComponentProps } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { ErrorState } from '../ui/ErrorState.tsx'
import { TextsLost } from './i18n.ts'
import classes from './PagePending.module.css'
import { useReloadWhenBack } from './use-reload-when-back.ts'

/** A page whose code or texts could not be loaded, or that broke while it was drawn: loading it anew is the way out. */
export function PageFailure({ error }: ErrorComponentProps) {
  const { t } = useTranslation('common')
  useReloadWhenBack()
  const lost = error instanceof TextsLost || (error instanceof TypeError && /import/i.test(error.message))
  return (
    <div className={classes.failure}>
      <ErrorState
        message={t(lost ? 'page_failure.load' : 'page_failure.broke')}
        onRetry={() => location.reload()}
      />
    </div>
  )
}
