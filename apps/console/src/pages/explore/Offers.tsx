import type { Image } from '@berth/contract/images'
import type { GpuSpec, Region } from '@berth/contract/regions'
import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { type ReactNode, useCallback } from 'react'
import { useTranslation } from 'react-i18next'
import { balanceQuery } from '../../api/queries.ts'
import { usePageSearch } from '../../app/search.ts'
import { readCurrency } from '../../app/session/session-storage.ts'
import { offersOf, type SpecOffer } from '../../offers/offers.ts'
import { AddressNote } from './AddressNote.tsx'
import { NoOffers } from './NoOffers.tsx'
import { OfferFilters } from './OfferFilters.tsx'
import classes from './Offers.module.css'
import { OfferTable } from './OfferTable.tsx'
import { FILTER_NAMES, findOffers, NO_FILTERS, notUnderstood, without } from './offer-filters.ts'
import { useOfferView } from './offer-view.ts'
import { SpecCards } from './SpecCards.tsx'
import { exploreSearch } from './search.ts'
import { useFilterWords } from './use-filter-words.ts'

interface OffersSectionProps {
  specs: readonly GpuSpec[]
  regions: readonly Region[]
  /** What a machine can start from. */
  images: readonly Image[]
  /** The form for the spec that is chosen. */
  children: (chosen: SpecOffer) => ReactNode
}

/** What can be rented, narrowed and ordered as the address says, and the form for the one that is chosen (R1.1, R3.3). */
export function Offers({ specs, regions, images, children }: OffersSectionProps) {
  const { t } = useTranslation('offers')
  const [asked, setFilters] = usePageSearch(exploreSearch)
  const strange = notUnderstood(useSearch({ strict: false }), { regions, specs, images })
  const [view, setView] = useOfferView()
  const { data: balance } = useQuery(balanceQuery)
  const currency = balance?.currency ?? readCurrency()
  const words = useFilterWords({ regions, specs, currency })
  const choose = useCallback((spec: string) => setFilters({ spec }), [setFilters])

  const filters = without(asked, strange)
  const offers = findOffers(specs, filters)
  // What was chosen stays in the form, with what was typed there, also while filters hide its card.
  const all = offersOf(specs, filters.region, filters.sort)
  const isFree = ({ available }: SpecOffer) => available > 0
  const chosen =
    [...offers, ...all].find(({ id }) => id === filters.spec) ?? offers.find(isFree) ?? all.find(isFree)
  const shown = { offers, regions, currency, chosen: chosen?.id ?? '', onChoose: choose }
  return (
    <>
      {strange.length > 0 && (
        <AddressNote
          strange={strange}
          onClean={() => setFilters(Object.fromEntries(strange.map(({ name }) => [name, undefined])))}
        />
      )}
      <div className={classes.layout}>
        <OfferFilters
          filters={filters}
          onChange={setFilters}
          regions={regions}
          specs={specs}
          currency={currency}
          view={view}
          onView={setView}
        />
        <div className={classes.offers}>
          {offers.length === 0 && (
            <NoOffers
              hidden={offersOf(specs, '', 'name').length}
              by={FILTER_NAMES.flatMap(name => (filters[name] === '' ? [] : [words(name, filters[name])]))}
              onClear={() => setFilters(NO_FILTERS)}
            />
          )}
          {offers.length > 0 && (view === 'table' ? <OfferTable {...shown} /> : <SpecCards {...shown} />)}
          {chosen && !offers.some(({ id }) => id === chosen.id) && (
            <p className={classes.hidden} role="status">
              {t('chosen_hidden', { name: chosen.name })}
            </p>
          )}
        </div>
        {chosen && children(chosen)}
      </div>
    </>
  )
}
