import { useTranslation } from 'react-i18next'
import classes from './PasswordStrength.module.css'
import { missingParts, STRENGTH_PARTS } from './password-strength.ts'

/**
 * How far a new password is, and what it still needs (R5.2).
 * @param props.refused The form was sent with it: what is missing is then the field's error.
 */
export function PasswordStrength({ password, refused }: { password: string; refused: boolean }) {
  const { t, i18n } = useTranslation('common')
  const missing = missingParts(password)
  const met = STRENGTH_PARTS.length - missing.length
  const list = new Intl.ListFormat(i18n.language, { type: 'conjunction', style: 'narrow' })
  const words =
    missing.length === 0
      ? t('password.strength.good')
      : t('password.strength.needed', {
          parts: list.format(missing.map(part => t(`password.strength.${part}`))),
        })
  return (
    <div
      className={classes.strength}
      data-strong={missing.length === 0 || undefined}
      data-refused={refused || undefined}
    >
      <div className={classes.bar} aria-hidden="true">
        {STRENGTH_PARTS.map((part, index) => (
          <span key={part} data-met={(password !== '' && index < met) || undefined} />
        ))}
      </div>
      <p className={classes.words} role="status">
        {words}
      </p>
    </div>
  )
}
