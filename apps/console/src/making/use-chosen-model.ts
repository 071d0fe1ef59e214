import type { Model } from '@berth/contract/models'
import { useEffect, useMemo, useRef } from 'react'
import * as z from 'zod'
import { usePageSearch } from '../app/search.ts'
import { chosenModels, missingModels } from '../chat/chat-search.ts'
import { useTabDraft } from '../ui/use-tab-draft.ts'

const ID_CHARS_MAX = 200
const modelSearch = z.object({ model: z.string().max(ID_CHARS_MAX).catch('') })
const NONE = { model: '' }

/**
 * The model that the address names, else the one that was chosen last in this tab, else the first; one of the address that is
 * not here is said.
 * @param name Of the page, under which the choice is kept.
 * @param models At least one.
 */
export function useChosenModel(name: string, models: readonly [Model, ...Model[]]) {
  const [{ model: named }, setSearch] = usePageSearch(modelSearch)
  const [kept, keep] = useTabDraft(`${name}.model`, modelSearch, NONE)
  const keepNow = useRef(keep)
  const chosen = chosenModels(named === '' ? kept.model : named, models, 1)[0] ?? models[0]
  useEffect(() => keepNow.current({ model: chosen.id }), [chosen.id])
  return {
    chosen,
    missing: useMemo(() => missingModels(named, models), [named, models]),
    choose: (id: string) => setSearch({ model: id }),
  }
}
