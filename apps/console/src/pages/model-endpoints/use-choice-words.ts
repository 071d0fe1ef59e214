import { MODEL_KINDS, type Model } from '@berth/contract/models'
import { MODEL_ABILITIES } from '../../models/model-abilities.ts'
import { useModelWords } from '../../models/use-model-words.ts'
import { type Facet, slugOf } from './found-models.ts'

/** Says a choice of the filters: what an address holds that is none here is said as it stands there. */
export function useChoiceWords(models: readonly Model[]): (facet: Facet, value: string) => string {
  const words = useModelWords()
  return (facet, value) => {
    if (facet === 'vendor') return models.find(({ vendor }) => slugOf(vendor) === value)?.vendor ?? value
    if (facet === 'kind') {
      const kind = MODEL_KINDS.find(one => one === value)
      return kind ? words.kind(kind) : value
    }
    const can = MODEL_ABILITIES.find(one => one === value)
    return can ? words.can(can) : value
  }
}
