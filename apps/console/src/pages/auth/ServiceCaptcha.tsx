import type { Captcha } from '@berth/contract/account-sign-in'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { currentLanguage } from '../../app/i18n.ts'
import { LinkButton } from '../../ui/LinkButton.tsx'
import classes from './CaptchaField.module.css'
import { showWidget } from './captcha-widgets.ts'
import type { OneCaptchaProps } from './use-captcha.ts'

/** The box of a captcha service; what happens in it is the service's own. */
export function ServiceCaptcha({ captcha, ...props }: OneCaptchaProps & { captcha: Captcha }) {
  const { onAnswer, onRenew, complaints } = props
  const { t } = useTranslation(['auth', 'errors'])
  const [isBroken, setBroken] = useState(false)
  const box = useRef<HTMLDivElement>(null)
  const answer = useRef(onAnswer)
  answer.current = onAnswer
  const { type, clientId } = captcha

  useEffect(() => {
    const place = document.createElement('div')
    box.current?.append(place)
    const remove = showWidget(type, place, {
      siteKey: clientId,
      language: currentLanguage(),
      isDark: document.documentElement.dataset.mantineColorScheme === 'dark',
      onToken(token) {
        answer.current(token ? { captchaType: type, captchaToken: token, clientSecret: '' } : null)
      },
      onBroken: () => setBroken(true),
    })
    return () => {
      remove()
      place.remove()
    }
  }, [type, clientId])

  return (
    <>
      <div ref={box} className={classes.widget} hidden={isBroken} />
      {isBroken && (
        <p className={classes.failed} role="alert">
          {t('captcha.failed')}{' '}
          <LinkButton className={classes.small} onClick={onRenew}>
            {t('captcha.retry')}
          </LinkButton>
        </p>
      )}
      {!isBroken && complaints > 0 && (
        <p className={classes.failed} role="alert">
          {t('errors:captcha_required')}
        </p>
      )}
    </>
  )
}
