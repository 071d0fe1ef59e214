import { APPLICATION, ORGANIZATION, resetPassword } from '@berth/contract/account'
import { Button } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { ApiError } from '../../api/api-error.ts'
import { useChange } from '../../api/use-change.ts'
import { GuestCard } from '../../app/guest/GuestCard.tsx'
import { useGuestSearch } from '../../app/guest/guest-search.ts'
import { session } from '../../app/session/session.ts'
import { FormFailure } from '../../ui/FormFailure.tsx'
import { NewPasswordFields } from '../../ui/NewPasswordFields.tsx'
import { useContractForm } from '../../ui/use-contract-form.ts'
import classes from './AuthPage.module.css'
import { newPasswordForm } from './auth-schemas.ts'

const PATH = '/reset-password'
const search = z.object({ token: z.string().catch('') })

type Outcome = { done: true } | { failure: string } | null

/** Where the mail leads that lets somebody choose a new password (R2.1). */
export function Page() {
  const { t } = useTranslation(['auth', 'errors'])
  const [{ token }] = useGuestSearch(search)
  const [outcome, setOutcome] = useState<Outcome>(token ? null : { failure: t('errors:reset_link_invalid') })

  if (outcome === null) {
    return (
      <GuestCard path={PATH} title={t('new_password.title')}>
        <NewPasswordForm token={token} onOutcome={setOutcome} />
      </GuestCard>
    )
  }
  if ('failure' in outcome) {
    return (
      <GuestCard path={PATH} title={t('new_password.failed_title')}>
        <p className={classes.other} role="alert">
          {outcome.failure}
        </p>
        <Button component="a" href="/auth?mode=reset" className={classes.next}>
          {t('new_password.ask')}
        </Button>
      </GuestCard>
    )
  }
  return (
    <GuestCard path={PATH} title={t('new_password.done_title')}>
      <p className={classes.other} role="status">
        {t('new_password.done_text')}
      </p>
      <Button component="a" href="/auth" className={classes.next}>
        {t('log_in.submit')}
      </Button>
    </GuestCard>
  )
}

interface NewPasswordFormProps {
  token: string
  onOutcome: (outcome: Outcome) => void
}

function NewPasswordForm({ token, onOutcome }: NewPasswordFormProps) {
  const { t } = useTranslation('auth')
  const reset = useChange(resetPassword, { silent: true })
  const { form, submit, busy, failure } = useContractForm({
    schema: newPasswordForm,
    initialValues: { password: '', confirm: '' },
    async onSubmit({ password }) {
      const body = { token, password, application: APPLICATION, organization: ORGANIZATION }
      try {
        await reset.send({ body })
      } catch (error) {
        // A link that is over does not come back by trying again; anything else is told at the form.
        if (!(error instanceof ApiError) || !error.code.startsWith('reset_link_')) throw error
        onOutcome({ failure: error.message })
        return
      }
      // Every session has ended with the old password, the one of this browser too.
      await session().signOut({ ended: true })
      onOutcome({ done: true })
    },
  })
  return (
    <form className={classes.form} onSubmit={submit} noValidate>
      <NewPasswordFields form={form} />
      <FormFailure message={failure} />
      <Button type="submit" size="lg" fullWidth loading={busy}>
        {t('new_password.submit')}
      </Button>
    </form>
  )
}
