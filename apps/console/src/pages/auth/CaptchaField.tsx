import { APPLICATION } from '@berth/contract/account'
import { getCaptcha } from '@berth/contract/account-sign-in'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useCall } from '../../api/use-call.ts'
import { LinkButton } from '../../ui/LinkButton.tsx'
import classes from './CaptchaField.module.css'
import { DrawnCaptcha } from './DrawnCaptcha.tsx'
import { ServiceCaptcha } from './ServiceCaptcha.tsx'
import type { CaptchaFieldProps, OneCaptchaProps } from './use-captcha.ts'

const INPUT = { query: { applicationId: `admin/${APPLICATION}` } }

/** The captcha of the kind that the operator chose, and another one on demand. */
export function CaptchaField(props: CaptchaFieldProps) {
  const { t, i18n } = useTranslation('auth')
  const [renewals, setRenewals] = useState(0)
  return (
    <fieldset className={classes.field}>
      <legend className="said">{t('captcha.title')}</legend>
      <One
        // Its question is in the language in which it was asked for.
        key={`${renewals} ${i18n.language}`}
        {...props}
        takesFocus={props.takesFocus || renewals > 0}
        onRenew={() => {
          props.onAnswer(null)
          setRenewals(count => count + 1)
        }}
      />
      <span className="said" role="status">
        {renewals > 0 && t('captcha.renewed')}
      </span>
    </fieldset>
  )
}

function One(props: OneCaptchaProps) {
  const { t } = useTranslation('auth')
  const { data, error, retry } = useCall(getCaptcha, INPUT)
  if (error) {
    return (
      <p className={classes.failed} role="alert">
        {t('captcha.failed')}{' '}
        <LinkButton className={classes.small} onClick={retry}>
          {t('captcha.retry')}
        </LinkButton>
      </p>
    )
  }
  if (!data) return <div className={classes.loading} role="status" aria-label={t('captcha.loading')} />
  if (data.type === 'none') return null
  return data.type === 'Default' ? (
    <DrawnCaptcha {...props} captcha={data} />
  ) : (
    <ServiceCaptcha {...props} captcha={data} />
  )
}
