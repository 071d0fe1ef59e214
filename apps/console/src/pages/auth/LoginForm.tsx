import { Button, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { FormFailure } from '../../ui/FormFailure.tsx'
import { useContractForm } from '../../ui/use-contract-form.ts'
import classes from './AuthPage.module.css'
import { loginForm } from './auth-schemas.ts'
import { PasswordField } from './PasswordField.tsx'
import { signIn } from './sign-in.ts'

/**
 * Logs in with email and password.
 * @param props.failure What went wrong before the form was touched, such as a spent sign-in link.
 */
export function LoginForm({ failure: before }: { failure: string | null }) {
  const { t } = useTranslation('auth')
  const { form, submit, busy, failure } = useContractForm({
    schema: loginForm,
    initialValues: { email: '', password: '' },
    onSubmit: ({ email, password }) => signIn({ signinMethod: 'Password', username: email, password }),
  })
  return (
    <form className={classes.form} onSubmit={submit} noValidate>
      <TextInput
        label={t('email')}
        type="email"
        autoComplete="username"
        inputMode="email"
        {...form.getInputProps('email')}
      />
      <PasswordField
        label={t('password')}
        autoComplete="current-password"
        {...form.getInputProps('password')}
      />
      <FormFailure message={failure ?? before} />
      <Button type="submit" size="lg" fullWidth loading={busy}>
        {t('log_in.submit')}
      </Button>
    </form>
  )
}
