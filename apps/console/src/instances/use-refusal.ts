import { TERM_AHEAD_DAYS_MAX } from '@berth/contract/charge-terms'
import { useTranslation } from 'react-i18next'

/** Why a change of how an instance is paid for would be refused, in words; null where it would not be. */
export function useRefusal(code: string | null): string | null {
  const { t } = useTranslation(['errors', 'terms-of-payment'])
  if (code === null) return null
  if (code === 'instance_state') return t('terms-of-payment:refused.instance_state')
  return t(code as 'not_prepaid', { days: TERM_AHEAD_DAYS_MAX })
}
