import type { User } from '@berth/contract/account'
import { setPassword } from '@berth/contract/account-security'
import { newPassword, typedPassword } from '@berth/contract/fields'
import { Button } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import * as z from 'zod'
import { ApiError } from '../../../api/api-error.ts'
import { useChange } from '../../../api/use-change.ts'
import { useSession } from '../../../app/session/session.ts'
import { isConfirmed, MISMATCH } from '../../../ui/confirmed-password.ts'
import { FormFailure } from '../../../ui/FormFailure.tsx'
import { NewPasswordFields } from '../../../ui/NewPasswordFields.tsx'
import { PasswordField } from '../../../ui/PasswordField.tsx'
import { toast } from '../../../ui/toast.ts'
import { useContractForm } from '../../../ui/use-contract-form.ts'
import { hasPassword } from '../has-password.ts'
import { SectionCard } from '../SectionCard.tsx'
import classes from './PasswordCard.module.css'

/** Changes the password, or sets the first one of an account that was made by a link or through a service. */
export function PasswordCard() {
  const { t } = useTranslation('settings')
  const { user } = useSession()
  if (!user) return null
  const which = hasPassword(user) ? 'change' : 'first'
  return (
    <SectionCard title={t(`password.${which}.title`)} lead={t(`password.${which}.lead`)}>
      {/* Another form once there is a password: it then asks for that one too. */}
      <PasswordForm key={which} user={user} which={which} />
    </SectionCard>
  )
}

const fields = { oldPassword: z.string(), password: newPassword, confirm: z.string() }
const FORMS = {
  first: z.object(fields).refine(isConfirmed, MISMATCH),
  change: z.object({ ...fields, oldPassword: typedPassword }).refine(isConfirmed, MISMATCH),
}

function PasswordForm({ user, which }: { user: User; which: 'first' | 'change' }) {
  const { t } = useTranslation('settings')
  const change = useChange(setPassword, { silent: true })
  const { form, submit, busy, failure } = useContractForm({
    schema: FORMS[which],
    initialValues: { oldPassword: '', password: '', confirm: '' },
    async onSubmit({ oldPassword, password }) {
      const body = { userOwner: user.owner, userName: user.name, oldPassword, newPassword: password }
      try {
        await change.send({ body })
      } catch (error) {
        throw asFormNamesIt(error)
      }
      form.reset()
      toast.good(t(`password.${which}.done`))
    },
  })
  return (
    <form onSubmit={submit} noValidate className={classes.form}>
      {/* Tells a password manager whose password this is. */}
      <input type="text" name="username" autoComplete="username" value={user.email} readOnly hidden />
      {which === 'change' && (
        <PasswordField
          label={t('password.old')}
          autoComplete="current-password"
          {...form.getInputProps('oldPassword')}
        />
      )}
      <NewPasswordFields form={form} label={t('password.new')} />
      <FormFailure message={failure} />
      <div>
        <Button type="submit" loading={busy}>
          {t(`password.${which}.submit`)}
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
