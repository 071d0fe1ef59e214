import type { Model } from '@berth/contract/models'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { readCurrency } from '../../app/session/session-storage.ts'
import type { Filters } from '../../lists/use-filters.ts'
import { useFormat } from '../../ui/format.ts'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { microFromText, textFromMicro } from '../../ui/micro-text.ts'
import { FACETS, type Facet, type Found, outputPrices, toggled } from './found-models.ts'
import classes from './ModelFilters.module.css'
import type { CatalogueSearch } from './search.ts'
import { useChoiceWords } from './use-choice-words.ts'

/** Of more choices the rest is behind a button. */
const CHOICES_SHOWN = 5

export interface ModelFiltersProps {
  models: readonly Model[]
  found: Found
  filters: Filters<CatalogueSearch>
}

/** What the models are narrowed by, each choice with how many it would show. */
export function ModelFilters({ models, found, filters }: ModelFiltersProps) {
  return (
    <div className={classes.filters} data-filters>
      {FACETS.map(facet => (
        <FacetChoices key={facet} facet={facet} models={models} found={found} filters={filters} />
      ))}
      <PriceMax models={models} filters={filters} />
    </div>
  )
}

function FacetChoices({ facet, models, found, filters }: ModelFiltersProps & { facet: Facet }) {
  const { t } = useTranslation('models')
  const words = useChoiceWords(models)
  const [isWhole, setIsWhole] = useState(false)
  const all = found.choices[facet]
  const shown = isWhole ? all : all.filter(({ chosen }, index) => chosen || index < CHOICES_SHOWN)
  const { values, change } = filters
  if (all.length === 0) return null
  return (
    <fieldset className={classes.part}>
      <legend className={classes.legend}>{t(`filters.${facet}`)}</legend>
      {shown.map(({ value, count, chosen }) => (
        <label key={value} className={classes.choice}>
          <input
            type="checkbox"
            checked={chosen}
            onChange={() => change({ [facet]: toggled(values[facet], value) })}
          />
          <span className={classes.word}>{words(facet, value)}</span>{' '}
          <span className={classes.count}>{count}</span>
        </label>
      ))}
      {shown.length < all.length && (
        <LinkButton className={classes.more ?? ''} onClick={() => setIsWhole(true)}>
          {t('filters.more', { count: all.length - shown.length })}
        </LinkButton>
      )}
    </fieldset>
  )
}

/** The most that a million tokens of answers may cost: one of the prices that there are, or any. */
function PriceMax({ models, filters }: Pick<ModelFiltersProps, 'models' | 'filters'>) {
  const { t } = useTranslation('models')
  const format = useFormat()
  const prices = outputPrices(models)
  const { values, change } = filters
  // A price alone narrows nothing.
  if (prices.length < 2) return null
  const last = prices.length - 1
  const asked = values.price === '' ? null : microFromText(values.price)
  const index =
    asked === null
      ? last
      : Math.max(
          0,
          prices.findLastIndex(price => price <= asked),
        )
  const money = (micro: bigint) => format.exactMoney(micro, readCurrency())
  const said = asked === null ? t('filters.price_any') : t('filters.price_max', { amount: money(asked) })
  return (
    <div className={classes.part}>
      <label className={classes.price}>
        <span className={classes.legend}>{t('filters.price')}</span>
        <input
          type="range"
          min={0}
          max={last}
          step={1}
          value={index}
          aria-valuetext={said}
          onChange={({ target }) => {
            const chosen = prices[Number(target.value)]
            change({
              price: chosen === undefined || Number(target.value) === last ? '' : textFromMicro(chosen),
            })
          }}
        />
      </label>
      <p className={classes.ends}>
        <span>{money(prices[0] ?? 0n)}</span>
        <span>{said}</span>
      </p>
    </div>
  )
}
