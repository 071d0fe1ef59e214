import {
  STOPPED_POD_KEPT_DAYS,
  STOPPED_POD_NOTICE_DAYS,
  UNPAID_IMAGE_KEPT_DAYS,
  UNPAID_VOLUME_KEPT_DAYS,
} from '@berth/contract/limits'
import { useTranslation } from 'react-i18next'
import classes from './ZeroNote.module.css'

/** What a balance that is used up means, before anybody pays (B4, R9.6). */
export function ZeroNote() {
  const { t, i18n } = useTranslation('payments')
  const keptDays = Math.min(UNPAID_VOLUME_KEPT_DAYS, UNPAID_IMAGE_KEPT_DAYS, STOPPED_POD_KEPT_DAYS)
  const notices = new Intl.ListFormat(i18n.language, { type: 'conjunction' })
  return (
    <section className={classes.note} aria-labelledby="zero-note">
      <h3 id="zero-note">{t('topup.zero.title')}</h3>
      <dl>
        <dt>{t('topup.zero.at_once')}</dt>
        <dd>{t('topup.zero.at_once_text')}</dd>
        <dt>{t('topup.zero.days', { count: keptDays })}</dt>
        <dd>{t('topup.zero.days_text')}</dd>
        <dt>{t('topup.zero.then')}</dt>
        <dd>
          {t('topup.zero.then_text', {
            volumes: UNPAID_VOLUME_KEPT_DAYS,
            pods: STOPPED_POD_KEPT_DAYS,
            notices: notices.format(STOPPED_POD_NOTICE_DAYS.map(String)),
          })}
        </dd>
      </dl>
      <p>{t('topup.zero.ends')}</p>
    </section>
  )
}
