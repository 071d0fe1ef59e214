import { TERM_AHEAD_DAYS_MAX } from '@berth/contract/charge-terms'
import { useCallback } from 'react'
import { useTranslation } from 'react-i18next'

/** Why changes of how instances are paid for would be refused, in words. */
export function useRefusals(): (code: string) => string {
  const { t } = useTranslation(['errors', 'terms-of-payment'])
  return useCallback(
    code => {
      if (code === 'instance_state') return t('terms-of-payment:refused.instance_state')
      return t(code as 'not_prepaid', { days: TERM_AHEAD_DAYS_MAX })
    },
    [t],
  )
}

/** Why a change of how an instance is paid for would be refused, in words; null where it would not be. */
export function useRefusal(code: string | null): string | null {
  const words = useRefusals()
  return code === null ? null : words(code)
}
