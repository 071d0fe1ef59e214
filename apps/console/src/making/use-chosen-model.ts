import type { Model } from '@berth/contract/models'
import { useMemo } from 'react'
import * as z from 'zod'
import { usePageSearch } from '../app/search.ts'
import { chosenModels, missingModels } from '../chat/chat-search.ts'

const ID_CHARS_MAX = 200
const modelSearch = z.object({ model: z.string().max(ID_CHARS_MAX).catch('') })

/**
 * The model that the address names; the first where it names none, or one that is not here, which is said then.
 * @param models At least one.
 */
export function useChosenModel(models: readonly [Model, ...Model[]]) {
  const [{ model: named }, setSearch] = usePageSearch(modelSearch)
  return useMemo(
    () => ({
      chosen: chosenModels(named, models, 1)[0] ?? models[0],
      missing: missingModels(named, models),
      choose: (id: string) => setSearch({ model: id }),
    }),
    [named, models, setSearch],
  )
}
