import type { GpuSpec, Region } from '@berth/contract/regions'
import { Button, Checkbox, NativeSelect } from '@mantine/core'
import { IconAdjustmentsHorizontal } from '@tabler/icons-react'
import { useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { FilterPill } from '../../lists/FilterPill.tsx'
import { offersOf, SORTS } from '../../offers/offers.ts'
import { SegmentedFilter } from '../../ui/SegmentedFilter.tsx'
import classes from './OfferFilters.module.css'
import { FILTER_NAMES, type FilterName, NO_FILTERS } from './offer-filters.ts'
import { OFFER_VIEWS, type OfferView } from './offer-view.ts'
import { PriceMaxField } from './PriceMaxField.tsx'
import type { ExploreSearch } from './search.ts'
import { useFilterWords } from './use-filter-words.ts'

interface OfferFiltersProps {
  filters: ExploreSearch
  onChange: (part: Partial<ExploreSearch>) => void
  regions: readonly Region[]
  /** One entry for each spec and region, whatever is narrowed. */
  specs: readonly GpuSpec[]
  currency: string
  view: OfferView
  onView: (view: OfferView) => void
}

/** What narrows and orders the offers: regions and the order in sight, the rest behind a button that counts it. */
export function OfferFilters(props: OfferFiltersProps) {
  const { filters, onChange, regions, specs, currency, view, onView } = props
  const { t } = useTranslation('offers')
  const panelId = useId()
  const [isOpen, setIsOpen] = useState(false)
  const words = useFilterWords({ regions, specs, currency })
  const folded = FILTER_NAMES.filter(name => name !== 'region' && filters[name] !== '')
  return (
    <div className={classes.filters}>
      <div className={classes.bar}>
        <SegmentedFilter
          label={t('region')}
          value={filters.region}
          onChange={region => onChange({ region })}
          options={[
            { value: '', label: t('all_regions') },
            ...regions.map(({ code, name, enabled, draining }) => ({
              value: code,
              label: enabled ? name : t(draining ? 'region_drains' : 'region_off', { name }),
              disabled: !enabled,
            })),
          ]}
        />
        <div className={classes.right}>
          <Button
            variant="default"
            leftSection={<IconAdjustmentsHorizontal size={16} stroke={1.6} />}
            aria-expanded={isOpen}
            aria-controls={panelId}
            onClick={() => setIsOpen(open => !open)}
          >
            {folded.length === 0 ? t('filters.label') : t('filters.count', { count: folded.length })}
          </Button>
          <SegmentedFilter
            label={t('view.label')}
            value={view}
            onChange={onView}
            options={OFFER_VIEWS.map(value => ({ value, label: t(`view.${value}`) }))}
          />
          <select
            className={classes.sort}
            aria-label={t('sort')}
            value={filters.sort}
            onChange={event => onChange({ sort: SORTS.find(sort => sort === event.target.value) ?? 'price' })}
          >
            {SORTS.map(sort => (
              <option key={sort} value={sort}>
                {t(`sorts.${sort}`)}
              </option>
            ))}
          </select>
        </div>
      </div>
      <div id={panelId} className={classes.panel} hidden={!isOpen}>
        <NativeSelect
          label={t('filters.model')}
          value={filters.model}
          onChange={event => onChange({ model: event.currentTarget.value })}
          data={[
            { value: '', label: t('filters.any') },
            ...offersOf(specs, '', 'name').map(({ id, name }) => ({ value: id, label: name })),
          ]}
        />
        <NativeSelect
          label={t('filters.vram')}
          value={filters.vram}
          onChange={event => onChange({ vram: event.currentTarget.value })}
          data={[
            { value: '', label: t('filters.any') },
            ...vramSteps(specs, filters.vram).map(gb => ({ value: String(gb), label: `${gb} GB` })),
          ]}
        />
        <PriceMaxField value={filters.price} currency={currency} onChange={price => onChange({ price })} />
        <NativeSelect
          label={t('filters.kind')}
          value={filters.kind}
          onChange={({ currentTarget: { value } }) =>
            onChange({ kind: value === 'POD' || value === 'VM' ? value : '' })
          }
          data={[
            { value: '', label: t('filters.any') },
            { value: 'POD', label: t('kinds.POD') },
            { value: 'VM', label: t('kinds.VM') },
          ]}
        />
        <Checkbox
          className={classes.check ?? ''}
          label={t('filters.available')}
          checked={filters.available === 'yes'}
          onChange={event => onChange({ available: event.currentTarget.checked ? 'yes' : '' })}
        />
      </div>
      {folded.length > 0 && (
        <ul className={classes.pills} aria-label={t('filters.on')}>
          {folded.map(name => (
            <li key={name}>
              <FilterPill
                text={words(name, filters[name])}
                label={t('filters.remove', { filter: words(name, filters[name]) })}
                onRemove={() => onChange({ [name]: NO_FILTERS[name] } as Partial<Record<FilterName, ''>>)}
              />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** The sizes that there are, and the one that is asked for. */
function vramSteps(specs: readonly GpuSpec[], asked: string): number[] {
  const sizes = specs.filter(({ gpu }) => gpu).map(spec => spec.vram_gb)
  return [...new Set([...sizes, ...(asked === '' ? [] : [Number(asked)])])].sort((a, b) => a - b)
}
