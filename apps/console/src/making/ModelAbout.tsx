import type { Model } from '@berth/contract/models'
import { useTranslation } from 'react-i18next'
import { useModelFigures } from '../models/use-model-figures.ts'
import { useModelWords } from '../models/use-model-words.ts'
import { useFormat } from '../ui/format.ts'
import { useOutlook } from './creation-queries.ts'

const MS = 1_000
/** Fractions below this many seconds are said. */
const FRACTIONS_BELOW = 10

/** What a model costs, how long it takes, and how reliably it answers; what is not known is left out. */
export function ModelAbout({ model }: { model: Model }) {
  const { t } = useTranslation('making')
  const format = useFormat()
  const words = useModelWords()
  const figures = useModelFigures().get(model.id)
  const median = useOutlook(model.id)?.median_ms ?? null
  const answered = words.answered(figures)
  const seconds = median === null ? null : median / MS
  const took =
    seconds === null
      ? null
      : seconds < FRACTIONS_BELOW
        ? t('units.seconds', { value: seconds.toFixed(1) })
        : format.duration(seconds)
  return [
    ...words.prices(model),
    took !== null && t(model.kind === 'video' ? 'about.median_second' : 'about.median', { took }),
    answered !== null && t('about.answered', { share: answered }),
    model.demo && t('about.demo'),
  ]
    .filter(Boolean)
    .join(' · ')
}
