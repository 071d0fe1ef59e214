import { useTranslation } from 'react-i18next'
import classes from './TechnicalDetail.module.css'

/** What an engine said, which is English in every language; nothing where it said nothing. Closed until somebody wants it. */
export function TechnicalDetail({ lines }: { lines: readonly string[] }) {
  const { t } = useTranslation('common')
  const said = lines.filter(line => line !== '')
  if (said.length === 0) return null
  return (
    <details className={classes.detail}>
      <summary>{t('technical_detail')}</summary>
      <ul lang="en" translate="no">
        {said.map(line => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </details>
  )
}
