import type { Currency } from '@berth/contract/limits'
import type { PaymentDriver } from '../../../../drivers/payments/port.ts'
import type { Clock } from '../../../../platform/clock.ts'
import { isExpired, type Method } from './stored.ts'

interface Deps {
  clock: Clock
  payments: readonly PaymentDriver[]
}

/**
 * Why a new charge of a saved method is not begun, as an error code; null where it may be. Its platform must be offered
 * here now and take the wallet's currency: cards that were kept for trying are worth nothing once real money is taken.
 */
export function whyNotCharged(
  { payments, clock }: Deps,
  method: Pick<Method, 'platformName' | 'expiryMonth' | 'expiryYear'>,
  currency: Currency,
): 'payment_platform_unknown' | 'card_expired' | null {
  const isOffered = payments.some(
    ({ name, offered, currencies }) =>
      offered && name === method.platformName && currencies.includes(currency),
  )
  if (!isOffered) return 'payment_platform_unknown'
  return isExpired(method, clock.now()) ? 'card_expired' : null
}
