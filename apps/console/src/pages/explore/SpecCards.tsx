import type { Region } from '@berth/contract/regions'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { type SpecOffer, stockLevel } from '../../offers/offers.ts'
import { useFormat } from '../../ui/format.ts'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { SimulatedMark } from './SimulatedMark.tsx'
import classes from './SpecCards.module.css'
import { StockWords } from './StockWords.tsx'
import { useTermPrices } from './use-term-prices.ts'

export interface OffersProps {
  offers: readonly SpecOffer[]
  regions: readonly Region[]
  /** The id of the chosen one; empty for none. */
  chosen: string
  currency: string
  onChoose: (id: string) => void
}

/** Specs to choose from: what it is, what each region has left of it, what it costs (R3.3). */
export function SpecCards({ offers, regions, chosen, currency, onChoose }: OffersProps) {
  const { t } = useTranslation(['explore', 'offers'])
  const format = useFormat()
  const terms = useTermPrices(currency)
  // On a phone one card is shown, and the others when another one is wanted.
  const [isOpen, setIsOpen] = useState(false)
  const others = offers.filter(({ id }) => id !== chosen)
  const cheapest = others.map(offer => offer.priceMicroPerHour).sort((a, b) => Number(a - b))[0]
  const hasChosen = others.length < offers.length
  return (
    <fieldset className={classes.cards} data-open={isOpen || undefined}>
      <legend className="said">{t('specs')}</legend>
      {offers.map(offer => (
        <div key={offer.id} className={classes.card} data-chosen={offer.id === chosen || undefined}>
          {/* It lies over the whole card, so that a button in there stays one of its own. */}
          <input
            type="radio"
            name="gpu_spec"
            className={classes.input}
            value={offer.id}
            aria-labelledby={`offer-${offer.id}`}
            checked={offer.id === chosen}
            onChange={() => {
              setIsOpen(false)
              onChoose(offer.id)
            }}
          />
          <span id={`offer-${offer.id}`} className={classes.body}>
            <span className={classes.head}>
              <span className={classes.name}>
                {offer.name}
                {offer.simulated && <SimulatedMark />}
              </span>
              <StockWords level={offer.level} count={offer.available} />
            </span>
            <span className={classes.foot}>
              <span className={classes.facts}>
                {offer.gpu
                  ? t('machine_gpu', { vram: offer.vramGb, vcpu: offer.vcpu, gb: offer.memoryGb })
                  : t('machine', { vcpu: offer.vcpu, gb: offer.memoryGb })}
              </span>
              <span className={classes.price}>{format.rate(offer.priceMicroPerHour, currency, 'h')}</span>
            </span>
            {offer.places.length > 1 && (
              <span className={classes.places}>
                {offer.places.map(place => {
                  const level = stockLevel(place)
                  const name =
                    regions.find(({ code }) => code === place.region_code)?.name ?? place.region_code
                  return (
                    <span key={place.region_code} data-level={level}>
                      {level === 'available'
                        ? name
                        : t('offers:place', {
                            region: name,
                            stock: t(`stock.${level}`, { count: place.available }),
                          })}
                    </span>
                  )
                })}
              </span>
            )}
            <span className={classes.terms}>{terms(offer)}</span>
          </span>
        </div>
      ))}
      {cheapest !== undefined && hasChosen && (
        <p className={classes.others}>
          <LinkButton onClick={() => setIsOpen(true)}>{t('other_specs')}</LinkButton>
          <span>
            {t('more_specs', { count: others.length, price: format.rate(cheapest, currency, 'h') })}
          </span>
        </p>
      )}
    </fieldset>
  )
}
