import { APPLICATION, ORGANIZATION, sendResetPasswordEmail, type User } from '@berth/contract/account'
import { setPassword } from '@berth/contract/account-security'
import { newPassword, typedPassword } from '@berth/contract/fields'
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { ApiError } from '../../../api/api-error.ts'
import { settingsQuery } from '../../../api/queries.ts'
import { told, useChange } from '../../../api/use-change.ts'
import { hasPassword } from '../../../app/session/has-password.ts'
import { useSession } from '../../../app/session/session.ts'
import { isConfirmed, MISMATCH } from '../../../ui/confirmed-password.ts'
import { FormFailure } from '../../../ui/FormFailure.tsx'
import { NewPasswordFields } from '../../../ui/NewPasswordFields.tsx'
import { PasswordField } from '../../../ui/PasswordField.tsx'
import { toast } from '../../../ui/toast.ts'
import { useContractForm } from '../../../ui/use-contract-form.ts'
import { SectionCard } from '../SectionCard.tsx'
import classes from './PasswordCard.module.css'

/** Changes the password, or mails the link by which the first one is set. */
export function PasswordCard() {
  const { t } = useTranslation('settings')
  const { user } = useSession()
  if (!user) return null
  if (!hasPassword(user)) return <FirstPassword email={user.email} />
  return (
    <SectionCard title={t('password.change.title')} lead={t('password.change.lead')}>
      <PasswordForm user={user} />
    </SectionCard>
  )
}

/**
 * For an account that was made by a link or through a service. Its first password is a lasting way in, so that it takes
 * more than this session: the mail to its address.
 */
function FirstPassword({ email }: { email: string }) {
  const { t } = useTranslation(['settings', 'common'])
  const { data: settings } = useQuery(settingsQuery)
  const { send, busy } = useChange(sendResetPasswordEmail)
  const [sent, setSent] = useState(false)
  const ask = async () => {
    await send({ body: { email, application: APPLICATION, organization: ORGANIZATION } })
    setSent(true)
  }
  return (
    <SectionCard title={t('password.first.title')} lead={t('password.first.lead', { email })}>
      <p className={sent ? classes.sent : 'said'} role="status">
        {sent && t('password.first.sent', { email })}{' '}
        {sent && settings?.mailbox && <a href="/mailbox">{t('common:verify.mailbox')}</a>}
      </p>
      <Button variant={sent ? 'default' : 'filled'} loading={busy} onClick={() => void ask().catch(told)}>
        {t(sent ? 'password.first.again' : 'password.first.submit')}
      </Button>
    </SectionCard>
  )
}

const schema = z
  .object({ oldPassword: typedPassword, password: newPassword, confirm: z.string() })
  .refine(isConfirmed, MISMATCH)

function PasswordForm({ user }: { user: User }) {
  const { t } = useTranslation('settings')
  const change = useChange(setPassword, { silent: true })
  const { form, submit, busy, failure } = useContractForm({
    schema,
    initialValues: { oldPassword: '', password: '', confirm: '' },
    async onSubmit({ oldPassword, password }) {
      const body = { userOwner: user.owner, userName: user.name, oldPassword, newPassword: password }
      try {
        await change.send({ body })
      } catch (error) {
        throw asFormNamesIt(error)
      }
      form.reset()
      toast.good(t('password.change.done'))
    },
  })
  return (
    <form onSubmit={submit} noValidate className={classes.form}>
      {/* Tells a password manager whose password this is. */}
      <input type="text" name="username" autoComplete="username" value={user.email} readOnly hidden />
      <PasswordField
        label={t('password.old')}
        autoComplete="current-password"
        {...form.getInputProps('oldPassword')}
      />
      <NewPasswordFields form={form} label={t('password.new')} />
      <FormFailure message={failure} />
      <div>
        <Button type="submit" loading={busy}>
          {t('password.change.submit')}
        </Button>
      </div>
    </form>
  )
}

/** The form calls the new password what every form of the console calls it. */
function asFormNamesIt(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error
  return new ApiError({
    ...error,
    message: error.message,
    fields: error.fields.map(field =>
      field.path === 'newPassword' ? { ...field, path: 'password' } : field,
    ),
  })
}
