import { useTranslation } from 'react-i18next'
import classes from './SimulatedMark.module.css'

/** Says that no such GPU is in this machine (B1). */
export function SimulatedMark() {
  const { t } = useTranslation('explore')
  return (
    <span className={classes.simulated} title={t('simulated_hint')}>
      {t('simulated')}
    </span>
  )
}
