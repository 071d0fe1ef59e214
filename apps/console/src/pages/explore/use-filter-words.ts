import type { GpuSpec, Region } from '@berth/contract/regions'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../../ui/format.ts'
import { microFromText } from '../../ui/micro-text.ts'
import type { FilterName } from './offer-filters.ts'

interface Known {
  regions: readonly Region[]
  specs: readonly GpuSpec[]
  currency: string
}

/** Says a filter that is on: `at least 48 GB`. */
export function useFilterWords({ regions, specs, currency }: Known) {
  const { t } = useTranslation('offers')
  const format = useFormat()
  return (name: FilterName, value: string): string => {
    switch (name) {
      case 'region':
        return regions.find(({ code }) => code === value)?.name ?? value
      case 'model':
        return specs.find(({ id }) => id === value)?.name ?? value
      case 'vram':
        return t('words.vram', { gb: value })
      case 'price':
        return t('words.price', { rate: format.rate(microFromText(value), currency, 'h') })
      case 'available':
        return t('words.available')
      case 'kind':
        return value === 'VM' ? t('kinds.VM') : t('kinds.POD')
    }
  }
}
