import { Button } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import classes from './InitFailure.module.css'
import { useReloadWhenBack } from './use-reload-when-back.ts'

/**
 * The console could not start: a message, and Reload (R2.19). The texts themselves may be what is missing, so each
 * has an English one to fall back to.
 */
export function InitFailure() {
  useReloadWhenBack()
  const { t } = useTranslation(['common', 'errors'], { useSuspense: false })
  return (
    <main className={classes.failure} role="alert">
      <h1 className={classes.title}>
        {t('errors:init_failed', { defaultValue: 'The console could not start. Please reload the page.' })}
      </h1>
      <Button onClick={() => location.reload()}>
        {t('init_failure.reload', { defaultValue: 'Reload' })}
      </Button>
    </main>
  )
}
