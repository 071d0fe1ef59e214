import { useTranslation } from 'react-i18next'
import classes from './SetupNote.module.css'
import type { EarlierSetup } from './use-setup.ts'

/** What of an earlier setup could not be taken over. */
export function SetupNote({ earlier: { setup, failure } }: { earlier: EarlierSetup }) {
  const { t } = useTranslation('deploy')
  if (failure !== null) {
    return (
      <p className={classes.note} role="alert">
        {t('earlier.failed', { why: failure })}
      </p>
    )
  }
  const secrets = setup?.secret_env.length ?? 0
  if (secrets === 0) return null
  return (
    <p className={classes.note} role="status">
      {t('earlier.secrets', { count: secrets })}
    </p>
  )
}
