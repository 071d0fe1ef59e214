import { useState } from 'react'
import { keep, readKept } from '../../app/device-storage.ts'

/** How offers are drawn. */
export const OFFER_VIEWS = ['cards', 'table'] as const
export type OfferView = (typeof OFFER_VIEWS)[number]

const VIEW_KEY = 'berth.offer-view'

/** Cards or a table: the choice is kept on this device. */
export function useOfferView(): [OfferView, (view: OfferView) => void] {
  const [view, setView] = useState<OfferView>(() => (readKept(VIEW_KEY) === 'table' ? 'table' : 'cards'))
  const choose = (chosen: OfferView) => {
    keep(VIEW_KEY, chosen)
    setView(chosen)
  }
  return [view, choose]
}
