import { APPLICATION, ORGANIZATION, signup } from '@berth/contract/account'
import { Button, Checkbox, TextInput } from '@mantine/core'
import { Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../api/use-change.ts'
import { currentLanguage } from '../../app/i18n.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { session } from '../../app/session/session.ts'
import { readCurrency, readReferralCode } from '../../app/session/session-storage.ts'
import { startWait } from '../../app/session/verify-wait.ts'
import { FormFailure } from '../../ui/FormFailure.tsx'
import { NewPasswordFields } from '../../ui/NewPasswordFields.tsx'
import { useContractForm } from '../../ui/use-contract-form.ts'
import classes from './AuthPage.module.css'
import { signupForm } from './auth-schemas.ts'
import { signIn } from './sign-in.ts'

/** A mail went out with the account, so the banner does not offer another one before its time. */
function waitForMail(sentAt: number): void {
  const { user } = session().getState()
  if (user && !user.emailVerified) startWait(user.id, sentAt)
}

// Few come by a friend's link: nobody else loads it.
const InvitationNote = lazyPart(() => import('./InvitationNote.tsx').then(module => module.InvitationNote))

interface SignupFormProps {
  /** Where the terms can be read. */
  termsUrl: string
  /**
   * Logging in failed: the address had an account, which the gateway tells nobody but its owner, or something broke on
   * the way. The log-in form takes over.
   */
  onMade: (email: string) => void
}

/** Makes an account and logs in to it. */
export function SignupForm({ termsUrl, onMade }: SignupFormProps) {
  const { t } = useTranslation('auth')
  const signUp = useChange(signup, { silent: true })
  const { form, submit, busy, failure } = useContractForm({
    schema: signupForm,
    initialValues: { name: '', email: '', password: '', confirm: '', agreement: false },
    async onSubmit({ name, email, password }) {
      const referralCode = readReferralCode()
      const body = {
        application: APPLICATION,
        organization: ORGANIZATION,
        username: email,
        email,
        name,
        password,
        agreement: true as const,
        language: currentLanguage(),
        currency: readCurrency(),
        ...(referralCode ? { referralCode } : {}),
      }
      await signUp.send({ body })
      const sentAt = Date.now()
      await signIn({ signinMethod: 'Password', username: email, password }).then(
        () => waitForMail(sentAt),
        () => onMade(email),
      )
    },
  })
  return (
    <form className={classes.form} onSubmit={submit} noValidate>
      <Suspense>{readReferralCode() !== null && <InvitationNote />}</Suspense>
      <TextInput
        label={t('username')}
        description={t('username_hint')}
        autoComplete="nickname"
        {...form.getInputProps('name')}
      />
      <TextInput
        label={t('email')}
        type="email"
        autoComplete="username"
        inputMode="email"
        {...form.getInputProps('email')}
      />
      <NewPasswordFields form={form} />
      <Checkbox
        label={
          <>
            {t('terms')}{' '}
            <a href={termsUrl} target="_blank" rel="noreferrer">
              {t('terms_link')}
            </a>
          </>
        }
        {...form.getInputProps('agreement', { type: 'checkbox' })}
        aria-invalid={form.errors.agreement !== undefined}
      />
      <FormFailure message={failure} />
      <Button type="submit" size="lg" fullWidth loading={busy}>
        {t('sign_up.submit')}
      </Button>
    </form>
  )
}
