import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { balanceQuery } from '../../api/queries.ts'
import { readCurrency } from '../../app/session/session-storage.ts'
import { useFormat } from '../../ui/format.ts'
import { type SpecOffer, stockLevel } from './offers.ts'
import classes from './SpecCards.module.css'

interface SpecCardsProps {
  offers: readonly SpecOffer[]
  /** The id of the chosen one; empty for none. */
  chosen: string
  onChoose: (id: string) => void
}

/** Specs to choose from: what it is, what is left of it, what it costs (R3.3). */
export function SpecCards({ offers, chosen, onChoose }: SpecCardsProps) {
  const { t } = useTranslation('explore')
  const format = useFormat()
  const { data: balance } = useQuery(balanceQuery)
  const currency = balance?.currency ?? readCurrency()
  // On a phone one card is shown, and the others when another one is wanted.
  const [isOpen, setIsOpen] = useState(false)
  const others = offers.filter(({ id }) => id !== chosen)
  const cheapest = others.map(offer => offer.priceMicroPerHour).sort((a, b) => Number(a - b))[0]
  return (
    <fieldset className={classes.cards} data-open={isOpen || undefined}>
      <legend className="said">{t('specs')}</legend>
      {offers.map(offer => {
        const level = stockLevel(offer)
        return (
          <label key={offer.id} className={classes.card} data-chosen={offer.id === chosen || undefined}>
            <input
              type="radio"
              name="gpu_spec"
              className={classes.input}
              value={offer.id}
              checked={offer.id === chosen}
              disabled={level === 'sold_out'}
              onChange={() => {
                setIsOpen(false)
                onChoose(offer.id)
              }}
            />
            <span className={classes.head}>
              <span className={classes.name}>
                {offer.name}
                {offer.simulated && (
                  <span className={classes.simulated} title={t('simulated_hint')}>
                    {t('simulated')}
                  </span>
                )}
              </span>
              <span className={classes.stock} data-level={level}>
                {t(`stock.${level}`, { count: offer.available })}
              </span>
            </span>
            <span className={classes.foot}>
              <span className={classes.facts}>
                {offer.gpu
                  ? t('machine_gpu', { vram: offer.vramGb, vcpu: offer.vcpu, gb: offer.memoryGb })
                  : t('machine', { vcpu: offer.vcpu, gb: offer.memoryGb })}
              </span>
              <span className={classes.price}>{format.rate(offer.priceMicroPerHour, currency, 'h')}</span>
            </span>
          </label>
        )
      })}
      {cheapest !== undefined && chosen && (
        <p className={classes.others}>
          <button type="button" onClick={() => setIsOpen(true)}>
            {t('other_specs')}
          </button>
          <span>
            {t('more_specs', { count: others.length, price: format.rate(cheapest, currency, 'h') })}
          </span>
        </p>
      )}
    </fieldset>
  )
}
