import { useCallback } from 'react'
import { useTranslation } from 'react-i18next'
import type { SpecOffer } from '../../offers/offers.ts'
import { useFormat } from '../../ui/format.ts'

/** Says what a week and a month of an offer cost that are paid in advance: `$63.50 /wk · $241.92 /mo`. */
export function useTermPrices(currency: string) {
  const { t } = useTranslation('offers')
  const format = useFormat()
  return useCallback(
    (offer: Pick<SpecOffer, 'priceMicroPerWeek' | 'priceMicroPerMonth'>): string =>
      t('terms', {
        week: format.money(offer.priceMicroPerWeek, currency),
        month: format.money(offer.priceMicroPerMonth, currency),
      }),
    [t, format, currency],
  )
}
