import { Button } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import classes from './InitFailure.module.css'

/** The console could not find out who is signed in: a message, and Reload (R2.19). */
export function InitFailure() {
  const { t } = useTranslation(['common', 'errors'])
  return (
    <main className={classes.failure} role="alert">
      <h1 className={classes.title}>{t('init_failure.title')}</h1>
      <p className={classes.text}>{t('errors:init_failed')}</p>
      <Button onClick={() => location.reload()}>{t('init_failure.reload')}</Button>
    </main>
  )
}
