import { APPLICATION, ORGANIZATION, sendResetPasswordEmail } from '@berth/contract/account'
import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../api/use-change.ts'
import { FormFailure } from '../../ui/FormFailure.tsx'
import { useContractForm } from '../../ui/use-contract-form.ts'
import classes from './AuthPage.module.css'
import { resetRequestForm } from './auth-schemas.ts'

interface ResetRequestFormProps {
  /** The address that is in the form already. */
  email: string
  /** Why a new password is needed, such as an expired one; null where somebody just asks. */
  failure: string | null
}

/** Asks for the mail with the link to choose a new password (R2.1). */
export function ResetRequestForm({ email: knownEmail, failure: before }: ResetRequestFormProps) {
  const { t } = useTranslation('auth')
  const [sentTo, setSentTo] = useState<string | null>(null)
  const ask = useChange(sendResetPasswordEmail, { silent: true })
  const { form, submit, busy, failure } = useContractForm({
    schema: resetRequestForm,
    initialValues: { email: knownEmail },
    async onSubmit({ email }) {
      const body = { email, application: APPLICATION, organization: ORGANIZATION }
      await ask.send({ body })
      setSentTo(email)
    },
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
      <FormFailure message={failure ?? (sentTo === null ? before : null)} />
      <p className={sentTo === null ? 'said' : classes.other} role="status">
        {sentTo !== null && t('reset.sent', { email: sentTo })}
      </p>
      <Button
        type="submit"
        size="lg"
        fullWidth
        loading={busy}
        variant={sentTo === null ? 'filled' : 'default'}
      >
        {t(sentTo === null ? 'reset.submit' : 'reset.again')}
      </Button>
    </form>
  )
}
