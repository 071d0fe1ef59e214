import type { CreationItem } from '@berth/contract/creations'
import { useTranslation } from 'react-i18next'
import { useFormat } from '../ui/format.ts'

const MS = 1_000
const MINUTE_S = 60

/** How long something took, in words. */
export function useTook() {
  const { t } = useTranslation('making')
  const format = useFormat()
  /**
   * @param from When it was asked for.
   * @param items All that came of it.
   * @returns From there to the end of the last one; null while one is under way.
   */
  return (from: string, items: readonly Pick<CreationItem, 'ended_at'>[]): string | null => {
    const ends = items.map(({ ended_at }) => (ended_at === null ? Number.NaN : Date.parse(ended_at)))
    const seconds = (Math.max(...ends) - Date.parse(from)) / MS
    if (Number.isNaN(seconds)) return null
    return seconds < MINUTE_S
      ? t('units.seconds', { value: Math.max(0, seconds).toFixed(1) })
      : format.duration(seconds)
  }
}
