import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { LogLines } from '../instances/logs/LogLines.tsx'
import { ErrorState } from '../ui/ErrorState.tsx'
import classes from './ImageSheet.module.css'
import { useBuildLog } from './use-build-log.ts'

/** What the steps of an image's Dockerfile write, while they run and afterwards. */
export function BuildLog({ id }: { id: string }) {
  const { t } = useTranslation('image-form')
  const [follows, setFollows] = useState(true)
  const { lines, error } = useBuildLog(id)
  if (error && lines.length === 0) return <ErrorState message={error.message} requestId={error.requestId} />
  return (
    <div className={classes.log}>
      <h3 className={classes.label}>{t('build.log')}</h3>
      <LogLines
        label={t('build.log')}
        lines={lines}
        wanted=""
        follows={follows}
        onFollow={setFollows}
        none={t('build.log_none')}
      />
    </div>
  )
}
