import { listPayPlatforms } from '@berth/contract/billing'
import { listPaymentMethods } from '@berth/contract/payment-methods'
import { TRANSACTION_STATES } from '@berth/contract/transaction-filters'
import { NativeSelect } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../../api/queries.ts'
import { FilterFields } from '../../../lists/FilterFields.tsx'
import type { Filters } from '../../../lists/use-filters.ts'
import { useCardText } from '../../../receipts/card-text.ts'
import { PLATFORM_PREFIX, type TransactionSearch, transactionSearch } from './transaction-search.ts'

interface TransactionFiltersProps {
  /** What the button that shows them names. */
  id: string
  filters: Filters<TransactionSearch>
}

/** What narrows transactions besides their type: state, what they were paid with, and a period (R3.10). */
export function TransactionFilters({ id, filters }: TransactionFiltersProps) {
  const { t } = useTranslation('transactions')
  const { state, method } = filters.values
  const words = { from: t('from'), to: t('to'), backwards: t('backwards'), clear: t('clear') }
  return (
    <FilterFields id={id} filters={filters} words={words}>
      <NativeSelect
        label={t('state')}
        value={state}
        onChange={event =>
          filters.change({ state: transactionSearch.shape.state.parse(event.currentTarget.value) })
        }
        data={(['any', ...TRANSACTION_STATES] as const).map(value => ({
          value,
          label: t(`states.${value}`),
        }))}
      />
      <NativeSelect
        label={t('method')}
        value={method}
        onChange={event => filters.change({ method: event.currentTarget.value })}
        data={useMethods(method)}
      />
    </FilterFields>
  )
}

/** The cards that are kept and the platforms that there are, with whatever the address names. */
function useMethods(chosen: string): { value: string; label: string }[] {
  const { t } = useTranslation('transactions')
  const cardText = useCardText()
  const { data: kept = [] } = useQuery(queryOf(listPaymentMethods, {}))
  const { data: platforms = [] } = useQuery(queryOf(listPayPlatforms, {}))
  const known = [
    { value: '', label: t('any_method') },
    // What waits for its bank, or was refused there, has paid nothing.
    ...kept
      .filter(({ status }) => status === 'saved')
      .map(({ id, brand, last4 }) => ({ value: id, label: cardText({ brand, last4 }) })),
    ...platforms.map(({ platform_name, display_name }) => ({
      value: PLATFORM_PREFIX + platform_name,
      label: display_name,
    })),
  ]
  if (known.some(({ value }) => value === chosen)) return known
  const label = chosen.startsWith(PLATFORM_PREFIX) ? chosen.slice(PLATFORM_PREFIX.length) : t('gone_method')
  return [...known, { value: chosen, label }]
}
