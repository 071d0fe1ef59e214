import type { Card } from '@berth/contract/billing'
import { useCallback } from 'react'
import { useTranslation } from 'react-i18next'

/**
 * What a card is called, in the interface's language.
 * @returns A function of the card; of none it says nothing.
 */
export function useCardText(): (card: Card | null) => string {
  const { t } = useTranslation('payments')
  return useCallback(
    card => {
      if (card === null) return ''
      return card.last4 === '' ? card.brand : t('card', { brand: card.brand, last4: card.last4 })
    },
    [t],
  )
}
