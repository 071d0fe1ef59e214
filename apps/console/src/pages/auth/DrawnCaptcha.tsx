import type { Captcha } from '@berth/contract/account-sign-in'
import { TextInput } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { LinkButton } from '../../ui/LinkButton.tsx'
import classes from './CaptchaField.module.css'
import type { OneCaptchaProps } from './use-captcha.ts'

const ANSWER_CHARS_MAX = 20

/** Digits in a picture, or a question in words for whoever cannot see them; either answer is taken. */
export function DrawnCaptcha({ captcha, ...props }: OneCaptchaProps & { captcha: Captcha }) {
  const { isQuestion, onMode, onAnswer, onRenew, complaints, takesFocus } = props
  const { t } = useTranslation(['auth', 'errors'])
  const [text, setText] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const { captchaId, captchaQuestion, captchaImage } = captcha

  useEffect(() => {
    if (takesFocus || complaints > 0) input.current?.focus()
  }, [takesFocus, complaints])

  const change = (value: string) => {
    setText(value)
    const captchaToken = value.trim()
    onAnswer(captchaToken ? { captchaType: captcha.type, captchaToken, clientSecret: captchaId } : null)
  }
  return (
    <>
      {!isQuestion && (
        <div className={classes.picture}>
          <img
            className={classes.image}
            src={`data:image/png;base64,${captchaImage}`}
            width={200}
            height={80}
            alt={t('captcha.picture')}
          />
          <LinkButton className={classes.small} onClick={onRenew}>
            {t('captcha.another_picture')}
          </LinkButton>
        </div>
      )}
      <TextInput
        ref={input}
        label={isQuestion ? captchaQuestion : t('captcha.digits')}
        description={isQuestion ? t('captcha.answer_hint') : undefined}
        inputMode="numeric"
        autoComplete="off"
        maxLength={ANSWER_CHARS_MAX}
        value={text}
        onChange={event => change(event.currentTarget.value)}
        error={complaints > 0 && text.trim() === '' ? t('errors:captcha_required') : undefined}
      />
      <div className={classes.ways}>
        <LinkButton
          className={classes.small}
          onClick={() => {
            change('')
            onMode(!isQuestion)
            input.current?.focus()
          }}
        >
          {t(isQuestion ? 'captcha.show' : 'captcha.ask')}
        </LinkButton>
        {isQuestion && (
          <LinkButton className={classes.small} onClick={onRenew}>
            {t('captcha.another_question')}
          </LinkButton>
        )}
      </div>
    </>
  )
}
