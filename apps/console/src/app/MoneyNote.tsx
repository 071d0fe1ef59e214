import { useTranslation } from 'react-i18next'
import classes from './MoneyNote.module.css'

/** The line on top of every page of an installation whose money is not real although strangers use it. */
export function MoneyNote() {
  const { t } = useTranslation('common')
  return (
    <aside className={classes.note} role="note">
      {t('no_real_money')}
    </aside>
  )
}
