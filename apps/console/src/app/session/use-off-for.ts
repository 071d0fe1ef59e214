import type { Call } from '@berth/contract/call'
import { useTranslation } from 'react-i18next'
import { useSession } from './session.ts'

/**
 * The guard that stands around what a customer may do (R2.5, R4.2): a call that only verified customers may make is off
 * for everybody else who is signed in.
 * @param call What a button or a page does; its audience decides.
 * @returns Why it is off, in a sentence; null where it is not.
 */
export function useOffFor({ audience }: Pick<Call, 'audience'>): string | null {
  const { t } = useTranslation('errors')
  const { user } = useSession()
  return audience === 'verified' && user && !user.emailVerified ? t('account_not_activated') : null
}
