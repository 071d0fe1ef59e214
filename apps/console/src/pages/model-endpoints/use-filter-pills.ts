import type { Model } from '@berth/contract/models'
import { useTranslation } from 'react-i18next'
import { readCurrency } from '../../app/session/session-storage.ts'
import type { Filters } from '../../lists/use-filters.ts'
import { useFormat } from '../../ui/format.ts'
import { microFromText } from '../../ui/micro-text.ts'
import { FACETS, parts, toggled } from './found-models.ts'
import type { CatalogueSearch } from './search.ts'
import { useChoiceWords } from './use-choice-words.ts'

/** A filter that is on, as it is said, and the way to take it away. */
export interface FilterPill {
  key: string
  text: string
  remove: () => void
}

/** The filters that are on, but for the search. */
export function useFilterPills(models: readonly Model[], filters: Filters<CatalogueSearch>): FilterPill[] {
  const { t } = useTranslation('models')
  const format = useFormat()
  const words = useChoiceWords(models)
  const { values, change } = filters
  const pills = FACETS.flatMap(facet =>
    parts(values[facet]).map(value => ({
      key: `${facet} ${value}`,
      text: words(facet, value),
      remove: () => change({ [facet]: toggled(values[facet], value) }),
    })),
  )
  if (values.price === '') return pills
  const amount = format.exactMoney(microFromText(values.price), readCurrency())
  return [
    ...pills,
    { key: 'price', text: t('filters.price_on', { amount }), remove: () => change({ price: '' }) },
  ]
}
