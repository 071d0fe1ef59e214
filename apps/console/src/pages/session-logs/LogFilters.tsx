import { listApiKeys } from '@berth/contract/api-keys'
import { listModels } from '@berth/contract/models'
import { CALL_SOURCES, CALL_STATUSES } from '@berth/contract/session-log'
import { NativeSelect } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { FilterFields } from '../../lists/FilterFields.tsx'
import type { Filters } from '../../lists/use-filters.ts'
import { type LogSearch, logSearch } from './log-search.ts'

/** What narrows the log: model, key, status, how a call was made, and a period. */
export function LogFilters({ filters }: { filters: Filters<LogSearch> }) {
  const { t } = useTranslation('session-logs')
  const { values, change } = filters
  const words = { from: t('from'), to: t('to'), backwards: t('backwards'), clear: t('clear') }
  return (
    <FilterFields filters={filters} words={words}>
      <NativeSelect
        label={t('model')}
        value={values.model}
        onChange={event => change({ model: event.currentTarget.value })}
        data={useModels(values.model)}
      />
      <NativeSelect
        label={t('key')}
        value={values.key}
        onChange={event => change({ key: event.currentTarget.value })}
        data={useKeys(values.key)}
      />
      <NativeSelect
        label={t('status')}
        value={values.status}
        onChange={event => change({ status: logSearch.shape.status.parse(event.currentTarget.value) })}
        data={[
          { value: '', label: t('any_status') },
          ...CALL_STATUSES.map(value => ({ value, label: t(`statuses.${value}`) })),
        ]}
      />
      <NativeSelect
        label={t('source')}
        value={values.source}
        onChange={event => change({ source: logSearch.shape.source.parse(event.currentTarget.value) })}
        data={[
          { value: '', label: t('any_source') },
          ...CALL_SOURCES.map(value => ({ value, label: t(`sources.${value}`) })),
        ]}
      />
    </FilterFields>
  )
}

/** The models that there are, with whatever the address names. */
function useModels(chosen: string): { value: string; label: string }[] {
  const { t } = useTranslation('session-logs')
  const { data = [] } = useQuery(queryOf(listModels, {}))
  const known = [
    { value: '', label: t('any_model') },
    ...data.map(({ id, name }) => ({ value: id, label: name })),
  ]
  const isKnown = known.some(({ value }) => value === chosen)
  return isKnown ? known : [...known, { value: chosen, label: t('gone_model', { id: chosen }) }]
}

/** The keys of the account, with whatever the address names. */
function useKeys(chosen: string): { value: string; label: string }[] {
  const { t } = useTranslation('session-logs')
  const { data = [] } = useQuery(queryOf(listApiKeys, {}))
  const known = [
    { value: '', label: t('any_key') },
    ...data.map(({ id, name, prefix }) => ({ value: id, label: `${name} (${prefix}…)` })),
  ]
  const isKnown = known.some(({ value }) => value === chosen)
  return isKnown ? known : [...known, { value: chosen, label: t('gone_key') }]
}
