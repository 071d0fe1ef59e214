import * as z from 'zod'
import { useTabDraft } from '../ui/use-tab-draft.ts'
import { PARAMETERS, type ParameterName, type Parameters, USUAL } from './parameters.ts'

const TEXT_CHARS_MAX = 200_000

const parameters = z
  .object(
    Object.fromEntries(PARAMETERS.map(name => [name, z.number().catch(USUAL[name])])) as Record<
      ParameterName,
      z.ZodCatch<z.ZodNumber>
    >,
  )
  .catch(USUAL)

const draftSchema = z.object({
  text: z.string().max(TEXT_CHARS_MAX).catch(''),
  system: z.string().max(TEXT_CHARS_MAX).catch(''),
  shared: parameters,
  /** By the model's id, where each has its own; null where all have the same. */
  own: z.record(z.string(), parameters).nullable().catch(null),
})

/** What was typed and chosen, and not sent yet. */
export type Draft = z.infer<typeof draftSchema>

const EMPTY: Draft = { text: '', system: '', shared: USUAL, own: null }

/**
 * What was typed on a page and not sent: it is kept in this tab, so that it outlasts a reload and signing in. The
 * conversation itself is kept nowhere.
 * @param name Of the page, under which it is kept.
 * @returns It, and what changes some of it.
 */
export function useDraft(name: string): readonly [Draft, (change: Partial<Draft>) => void] {
  return useTabDraft(name, draftSchema, EMPTY)
}

/** The parameters that a model is sent. */
export function parametersOf({ shared, own }: Draft, modelId: string): Parameters {
  return own?.[modelId] ?? shared
}
