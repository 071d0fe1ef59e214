import { Button, TextInput } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { ApiError } from '../../api/api-error.ts'
import { loadPage } from '../../app/load-page.ts'
import { FormFailure } from '../../ui/FormFailure.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { PasswordField } from '../../ui/PasswordField.tsx'
import { useContractForm } from '../../ui/use-contract-form.ts'
import classes from './AuthPage.module.css'
import { loginForm } from './auth-schemas.ts'
import { signIn } from './sign-in.ts'
import { useCaptcha } from './use-captcha.ts'

// Few people ever see it. What was typed here does not go with it when it is lost on the way.
const CaptchaField = lazy(() =>
  loadPage(() => import('./CaptchaField.tsx')).then(
    module => ({ default: module.CaptchaField }),
    () => ({ default: CaptchaLost }),
  ),
)

interface LoginFormProps {
  /** The address that is in the form already. */
  email: string
  /** What went wrong before the form was touched, such as a spent sign-in link. */
  failure: string | null
  /** Somebody asks for a new password; `failure` says why they have to, where they do. */
  onReset: (email: string, failure: string | null) => void
}

/** Logs in with email and password. */
export function LoginForm({ email: knownEmail, failure: before, onReset }: LoginFormProps) {
  const { t } = useTranslation('auth')
  const captcha = useCaptcha()
  const { form, submit, busy, failure } = useContractForm({
    schema: loginForm,
    initialValues: { email: knownEmail, password: '' },
    async onSubmit({ email, password }) {
      if (captcha.isMissing()) return
      try {
        await signIn({ signinMethod: 'Password', username: email, password, ...captcha.answer })
      } catch (error) {
        void captcha.onRefused(error, email)
        // An expired password is right and still opens nothing: a new one is the way in (R4.10).
        if (!(error instanceof ApiError) || error.code !== 'password_expired') throw error
        onReset(email, error.message)
      }
    },
  })
  const emailProps = form.getInputProps('email')
  return (
    <form className={classes.form} onSubmit={submit} noValidate>
      <TextInput
        label={t('email')}
        type="email"
        autoComplete="username"
        inputMode="email"
        {...emailProps}
        onBlur={event => {
          emailProps.onBlur?.(event)
          void captcha.lookFor(event.currentTarget.value)
        }}
      />
      <div className={classes.withAside}>
        <PasswordField
          label={t('password')}
          autoComplete="current-password"
          {...form.getInputProps('password')}
        />
        <LinkButton className={classes.aside} onClick={() => onReset(form.values.email, null)}>
          {t('log_in.forgot')}
        </LinkButton>
      </div>
      {captcha.isAsked && (
        <Suspense fallback={null}>
          <CaptchaField key={captcha.round} {...captcha.field} />
        </Suspense>
      )}
      <FormFailure message={failure ?? before} />
      <Button type="submit" size="lg" fullWidth loading={busy}>
        {t('log_in.submit')}
      </Button>
    </form>
  )
}

/** Stands where the captcha would, when its code cannot be loaded. */
function CaptchaLost() {
  const { t } = useTranslation('auth')
  return (
    <p className={classes.other} role="alert">
      {t('captcha.failed')} <LinkButton onClick={() => location.reload()}>{t('captcha.retry')}</LinkButton>
    </p>
  )
}
