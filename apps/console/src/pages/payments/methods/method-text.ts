import type { PaymentMethod } from '@berth/contract/payment-methods'
import { useTranslation } from 'react-i18next'
import { useCardText } from '../../../receipts/card-text.ts'

/**
 * What a saved method is called, in the interface's language.
 * @returns A function of the method; one that is not entered yet is a new card.
 */
export function useMethodName(): (method: Pick<PaymentMethod, 'brand' | 'last4'>) => string {
  const { t } = useTranslation('methods')
  const cardText = useCardText()
  return method => (method.brand === '' ? t('new_card') : cardText(method))
}

/** Until when it can be charged, as it stands on a card: `08/29`; nothing while that is not known. */
export function expiryOf({ expiry_month: month, expiry_year: year }: PaymentMethod): string {
  if (month === null || year === null) return ''
  return `${String(month).padStart(2, '0')}/${String(year % 100).padStart(2, '0')}`
}
