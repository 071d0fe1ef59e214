import { listModels, type Model } from '@berth/contract/models'
import { Button, TextInput } from '@mantine/core'
import { IconAdjustmentsHorizontal, IconKey, IconSearch } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { queryOf } from '../../api/queries.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { searchOf } from '../../app/search.ts'
import { ChoiceSelect } from '../../lists/ChoiceSelect.tsx'
import { FilterPill } from '../../lists/FilterPill.tsx'
import { List } from '../../lists/List.tsx'
import { FIND_CHARS_MAX, type Filters, useFilters } from '../../lists/use-filters.ts'
import { CheckIn } from '../../models/CheckIn.tsx'
import { Card } from '../../ui/Card.tsx'
import { CopyText } from '../../ui/CopyText.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import classes from './Catalogue.module.css'
import { type Found, foundModels } from './found-models.ts'
import { ModelFilters } from './ModelFilters.tsx'
import { useModelColumns } from './model-columns.tsx'
import { type CatalogueSearch, catalogueSearch, MODEL_SORTS, NO_FILTERS } from './search.ts'
import { useFilterPills } from './use-filter-pills.ts'

const FilterSheet = lazyPart(() => import('./FilterSheet.tsx').then(module => module.FilterSheet))

/** Rows of the placeholder. */
const ROWS_EXPECTED = 8

/** What there is, what it costs and how it answers, in columns that can be compared; narrowed as the address says. */
export function Catalogue() {
  const { t } = useTranslation(['models', 'common'])
  const list = useQuery(queryOf(listModels, {}))
  const filters = useFilters(catalogueSearch)
  const columns = useModelColumns()
  const { data } = list
  const found = data && foundModels(data, filters.typed, filters.values)
  const pills = useFilterPills(data ?? [], filters)
  return (
    <>
      <PageHeader
        title={t('common:titles.model-endpoints')}
        second={<Address />}
        actions={
          <Button
            component={Link}
            to="/settings"
            search={searchOf({ section: 'api-keys' })}
            variant="default"
            leftSection={<IconKey size={16} stroke={1.6} />}
          >
            {t('keys')}
          </Button>
        }
      />
      <div className={classes.layout}>
        <div className={classes.side}>
          <CheckIn />
          {data && found && <ModelFilters models={data} found={found} filters={filters} />}
        </div>
        <div className={classes.main}>
          <Bar models={data} found={found} filters={filters} isOn={pills.length > 0} />
          {pills.length > 0 && (
            <ul className={classes.pills} aria-label={t('filters.on')}>
              {pills.map(({ key, text, remove }) => (
                <li key={key}>
                  <FilterPill text={text} label={t('filters.remove', { filter: text })} onRemove={remove} />
                </li>
              ))}
            </ul>
          )}
          <Card padding="none">
            <List
              label={t('common:titles.model-endpoints')}
              query={list}
              rows={found?.rows}
              keyOf={({ id }) => id}
              columns={columns}
              skeletonRows={ROWS_EXPECTED}
              none={{ title: t('none'), hint: t('none_hint') }}
              noneFound={
                data !== undefined &&
                data.length > 0 && {
                  title: filters.typed === '' ? t('none_match') : t('none_find', { text: filters.typed }),
                  hint:
                    pills.length > 0 &&
                    t('hidden', {
                      count: data.length,
                      by: pills.map(({ text }) => text).join(t('filters.and')),
                    }),
                  action: (
                    <div className={classes.clear}>
                      {filters.typed !== '' && (
                        <Button variant="default" onClick={() => filters.find('')}>
                          {t('filters.clear_find')}
                        </Button>
                      )}
                      {pills.length > 0 && (
                        <Button variant="default" onClick={() => filters.change(NO_FILTERS)}>
                          {t('filters.clear')}
                        </Button>
                      )}
                    </div>
                  ),
                }
              }
            />
          </Card>
        </div>
      </div>
    </>
  )
}

/** Where programs call them. */
function Address() {
  const { t } = useTranslation('models')
  return (
    <span className={classes.address}>
      {t('address')} <CopyText mono label={t('address_label')} value={`${window.location.origin}/v1`} />
      <span>{t('measured')}</span>
    </span>
  )
}

interface BarProps {
  models: readonly Model[] | undefined
  found: Found | undefined
  filters: Filters<CatalogueSearch>
  /** Whether any filter is on. */
  isOn: boolean
}

/** The search, how many there are, their order; on a phone the way to the filters. */
function Bar({ models, found, filters, isOn }: BarProps) {
  const { t } = useTranslation('models')
  const [isOpen, setIsOpen] = useState(false)
  return (
    <div className={classes.bar}>
      <TextInput
        type="search"
        className={classes.find ?? ''}
        aria-label={t('find')}
        placeholder={t('find')}
        leftSection={<IconSearch size={16} stroke={1.6} />}
        autoComplete="off"
        spellCheck={false}
        maxLength={FIND_CHARS_MAX}
        value={filters.typed}
        onChange={event => filters.find(event.currentTarget.value)}
      />
      <Button
        variant="default"
        className={classes.sheet ?? ''}
        aria-haspopup="dialog"
        leftSection={<IconAdjustmentsHorizontal size={16} stroke={1.6} />}
        onClick={() => setIsOpen(true)}
      >
        {t('filters.label')}
      </Button>
      {models && found && (
        <p className={classes.count} role="status">
          {t('count', { count: models.length, shown: found.rows.length })}
        </p>
      )}
      <ChoiceSelect
        aria-label={t('sort')}
        value={filters.values.sort}
        onChange={({ target }) =>
          filters.change({ sort: MODEL_SORTS.find(sort => sort === target.value) ?? 'catalogue' })
        }
      >
        {MODEL_SORTS.map(sort => (
          <option key={sort} value={sort}>
            {t(`sorts.${sort}`)}
          </option>
        ))}
      </ChoiceSelect>
      {models && found && (
        <Suspense>
          {isOpen && (
            <FilterSheet
              models={models}
              found={found}
              filters={filters}
              isOn={isOn}
              onClose={() => setIsOpen(false)}
            />
          )}
        </Suspense>
      )}
    </div>
  )
}
