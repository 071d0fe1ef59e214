import { useTranslation } from 'react-i18next'
import classes from './PasswordStrength.module.css'
import { missingParts, STRENGTH_PARTS } from './password-strength.ts'

/** How far a new password is, and what it still needs (R5.2). */
export function PasswordStrength({ password }: { password: string }) {
  const { t, i18n } = useTranslation('auth')
  const missing = missingParts(password)
  const met = STRENGTH_PARTS.length - missing.length
  const list = new Intl.ListFormat(i18n.language, { type: 'unit', style: 'short' })
  const words =
    missing.length === 0
      ? t('strength.good')
      : t('strength.needed', { parts: list.format(missing.map(part => t(`strength.${part}`))) })
  return (
    <div className={classes.strength} data-strong={missing.length === 0 || undefined}>
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
