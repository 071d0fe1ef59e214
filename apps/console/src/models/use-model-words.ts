import type { Model } from '@berth/contract/models'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { readCurrency } from '../app/session/session-storage.ts'
import { useFormat } from '../ui/format.ts'

/** What is said of models, wherever they are shown. */
export interface ModelWords {
  /** What it takes and gives, in a word. */
  kind: (kind: Model['kind']) => string
  can: (capability: Model['capabilities'][number]) => string
  /** How much it takes: `131,072 context`. */
  limit: (model: Model) => string
  /** What it costs, each part with its unit: `$0.10 /M in`. */
  prices: (model: Model) => readonly [string, ...string[]]
}

/** The words of models in the interface's language, with prices in the customer's currency (R9.3). */
export function useModelWords(): ModelWords {
  const { t } = useTranslation('models')
  const format = useFormat()
  const currency = readCurrency()
  return useMemo(() => {
    const money = (micro: string) => format.exactMoney(micro, currency)
    return {
      kind: kind => t(`kinds.${kind}`),
      can: capability => t(`can.${capability}`),
      limit: ({ context_tokens }) => t('limit.context', { tokens: format.number(context_tokens) }),
      prices: model => [
        t('price.in', { amount: money(model.input_micro_per_million) }),
        t('price.out', { amount: money(model.output_micro_per_million) }),
      ],
    }
  }, [t, format, currency])
}
