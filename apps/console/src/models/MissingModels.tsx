import type { Model } from '@berth/contract/models'
import { IconAlertTriangle } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import classes from './MissingModels.module.css'

interface MissingModelsProps {
  /** Ids that an address names and that no model here has. */
  missing: readonly string[]
  /** What is asked now. */
  chosen: readonly Pick<Model, 'id' | 'name'>[]
}

/** Says that an address names a model that is not here, and which one stands in its place; nothing where all are there. */
export function MissingModels({ missing, chosen }: MissingModelsProps) {
  const { t } = useTranslation('models')
  if (missing.length === 0) return null
  return (
    <div className={classes.note} role="status">
      <IconAlertTriangle size={16} stroke={1.6} aria-hidden="true" />
      <span>
        {t('missing.text', {
          names: missing.join(', '),
          instead: chosen.map(({ name }) => name).join(', '),
        })}
      </span>
      <Link to="/model-endpoints">{t('missing.all')}</Link>
    </div>
  )
}
