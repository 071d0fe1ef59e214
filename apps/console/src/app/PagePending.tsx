import { Loader } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import classes from './PagePending.module.css'

/** Shown while a page's code is on its way, and until it is known who is signed in (R2.8). */
export function PagePending() {
  const { t } = useTranslation('common', { useSuspense: false })
  return (
    <div className={classes.pending} role="status">
      <Loader size={22} color="var(--faint)" type="oval" />
      <span className="said">{t('loading')}</span>
    </div>
  )
}
