import type { UseFormReturnType } from '@mantine/form'
import { useTranslation } from 'react-i18next'
import { PasswordField } from './PasswordField.tsx'
import { PasswordStrength } from './PasswordStrength.tsx'
import { missingParts } from './password-strength.ts'

/** What the fields need of a form; it may hold more. */
interface PasswordValues {
  password: string
  confirm: string
}

/**
 * A new password, how strong it is, and the password once more (R5.2).
 * @param props.form Mantine's form that holds both.
 * @param props.label What the first field is called, where another password stands beside it.
 */
export function NewPasswordFields<Values extends PasswordValues>({
  form,
  label,
}: {
  form: Pick<UseFormReturnType<Values>, 'values' | 'errors' | 'getInputProps'>
  label?: string
}) {
  const { t } = useTranslation('common')
  const { password } = form.values
  const lacking = missingParts(password).length > 0
  return (
    <>
      <PasswordField
        label={label ?? t('password.label')}
        autoComplete="new-password"
        {...form.getInputProps('password')}
        // What is missing stands under the bar already; another rule is said in words.
        error={lacking && form.errors.password ? true : form.errors.password}
      />
      <PasswordStrength password={password} refused={form.errors.password !== undefined} />
      <PasswordField
        label={t('password.confirm')}
        autoComplete="new-password"
        {...form.getInputProps('confirm')}
      />
    </>
  )
}
