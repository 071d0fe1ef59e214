import type { AuditEntry } from '@berth/contract/account-security'
import { useCallback } from 'react'
import { useTranslation } from 'react-i18next'

/** Operations are named so; anything else is shown as it came. */
const OPERATION = /^[a-z_]+\.[a-z_-]+$/
const CODE = /^[a-z_]+$/

/** What was done, and why it was refused, in words; what has no words yet is shown by its name. */
export function useAuditWords(): {
  what: (entry: AuditEntry) => string
  /** Null where it was not refused. */
  refusal: (entry: AuditEntry) => string | null
} {
  const { t } = useTranslation(['settings', 'errors'])
  const what = useCallback(
    ({ action }: AuditEntry) =>
      OPERATION.test(action)
        ? t(`audit.actions.${action}` as 'audit.actions.account.login', { defaultValue: action })
        : action,
    [t],
  )
  const refusal = useCallback(
    ({ refused }: AuditEntry) => {
      if (refused === '') return null
      if (!CODE.test(refused)) return t('audit.refused', { why: refused })
      const said = t(`errors:${refused}` as 'errors:network', { defaultValue: refused })
      // Texts that hold a figure, which the log does not keep, have a wording of their own here.
      const why = t(`audit.reasons.${refused}` as 'audit.reasons.login_frozen', { defaultValue: said })
      return t('audit.refused', { why })
    },
    [t],
  )
  return { what, refusal }
}
