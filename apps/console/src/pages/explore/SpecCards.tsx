import { useQuery } from '@tanstack/react-query'
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
  return (
    <fieldset className={classes.cards}>
      <legend className="said">{t('specs')}</legend>
      {offers.map(offer => {
        const level = stockLevel(offer)
        const used = offer.total > 0 ? (offer.total - offer.available) / offer.total : 1
        return (
          <label key={offer.id} className={classes.card} data-chosen={offer.id === chosen || undefined}>
            <input
              type="radio"
              name="gpu_spec"
              className={classes.input}
              value={offer.id}
              checked={offer.id === chosen}
              disabled={level === 'sold_out'}
              onChange={() => onChoose(offer.id)}
            />
            <span className={classes.head}>
              <span className={classes.name}>{offer.name}</span>
              <span className={classes.stock} data-level={level}>
                {t(`stock.${level}`, { count: offer.available })}
              </span>
            </span>
            <span className={classes.gauge} aria-hidden="true">
              <span style={{ width: `${Math.round(used * 100)}%` }} />
            </span>
            <span className={classes.foot}>
              <span className={classes.facts}>
                <span>
                  {offer.gpu ? t('vram', { gb: offer.vramGb }) : t('no_gpu')}
                  {offer.simulated && (
                    <span className={classes.simulated} title={t('simulated_hint')}>
                      {t('simulated')}
                    </span>
                  )}
                </span>
                <span>{t('machine', { vcpu: offer.vcpu, gb: offer.memoryGb })}</span>
              </span>
              <span className={classes.price}>{format.rate(offer.priceMicroPerHour, currency, 'h')}</span>
            </span>
          </label>
        )
      })}
    </fieldset>
  )
}
