import type { ModelFigures } from '@berth/contract/model-figures'
import type { Model } from '@berth/contract/models'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { readCurrency } from '../app/session/session-storage.ts'
import { useFormat } from '../ui/format.ts'
import type { ModelAbility } from './model-abilities.ts'

/** What is said of models, wherever they are shown. */
export interface ModelWords {
  /** What it takes and gives, in a word. */
  kind: (kind: Model['kind']) => string
  can: (ability: ModelAbility) => string
  /** How much it takes or makes: `131,072 context`, `to 1536 × 1536`, `5 to 10 s`. */
  limit: (model: Model) => string
  /** What it costs, each part with its unit: `$0.10 /M in`. */
  prices: (model: Model) => readonly [string, ...string[]]
  /** What tokens cost that the server had in its cache. */
  cached: (model: Model) => string
  /** How long until half of its answers began, and how fast they then came; null for what is not measured yet. */
  speed: (figures: ModelFigures | undefined) => { first: string | null; rate: string | null }
  /** Which share of its calls was answered: `99.9%`; null where that is not measured yet. */
  answered: (figures: ModelFigures | undefined) => string | null
}

/** Fractions below this many seconds, and below this many tokens a second, are said. */
const FRACTIONS_BELOW = 10

/** The words of models in the interface's language, with prices in the customer's currency (R9.3). */
export function useModelWords(): ModelWords {
  const { t } = useTranslation('models')
  const format = useFormat()
  const currency = readCurrency()
  return useMemo(() => {
    const money = (micro: string) => format.exactMoney(micro, currency)
    const rounded = (value: number, decimals: number) =>
      value < FRACTIONS_BELOW ? value.toFixed(decimals) : format.number(Math.round(value))
    return {
      kind: kind => t(`kinds.${kind}`),
      can: ability => t(`can.${ability}`),
      limit: model => {
        const { kind, context_tokens, sizes, video_seconds } = model
        if (kind === 'image') return t('limit.size', { size: sizeText(sizes.toSorted(bySize).at(-1)) })
        if (kind === 'video') {
          const [least, most] = [Math.min(...video_seconds), Math.max(...video_seconds)]
          return least === most ? t('limit.length', { most }) : t('limit.lengths', { least, most })
        }
        return t('limit.context', { tokens: format.number(context_tokens) })
      },
      prices: model => {
        if (model.kind === 'image') return [t('price.image', { amount: money(model.image_micro) })]
        if (model.kind === 'video')
          return [t('price.second', { amount: money(model.video_micro_per_second) })]
        const asked = t('price.in', { amount: money(model.input_micro_per_million) })
        if (model.kind === 'embedding') return [asked]
        return [asked, t('price.out', { amount: money(model.output_micro_per_million) })]
      },
      cached: ({ cached_micro_per_million }) =>
        t('price.cached', { amount: money(cached_micro_per_million) }),
      speed: figures => {
        const { first_token_ms: ms = null, tokens_per_second: perSecond = null } = figures ?? {}
        return {
          first: ms === null ? null : t('speed.first', { seconds: rounded(ms / 1_000, 2) }),
          rate: perSecond === null ? null : t('speed.then', { rate: rounded(perSecond, 1) }),
        }
      },
      answered: figures => {
        const permille = figures?.answered_permille ?? null
        return permille === null
          ? null
          : `${permille % 10 === 0 ? permille / 10 : (permille / 10).toFixed(1)}%`
      },
    }
  }, [t, format, currency])
}

/** Of a size such as `1024x768`. */
function pixelsOf(size: string): number {
  const [width = 0, height = 0] = size.split('x').map(Number)
  return width * height
}

const bySize = (one: string, other: string) => pixelsOf(one) - pixelsOf(other)

/** A size as it is read: `1024 × 768`. */
function sizeText(size: string | undefined): string {
  return (size ?? '').replace('x', ' × ')
}
