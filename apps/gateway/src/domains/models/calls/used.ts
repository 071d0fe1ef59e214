import { type ModelPrices, modelMostMicro } from '@berth/contract/model-cost'
import * as z from 'zod'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import type { Meter } from '../../billing/billing.ts'

/** What a call has used. */
export interface Used {
  inputTokens: number
  /** Of those, what was in the server's cache. */
  cachedTokens: number
  outputTokens: number
}

/** What a call may use at the most: so much is set aside for it. */
export interface UsedMost {
  inputTokens: number
  outputTokens: number
}

type Priced = Pick<CatalogueModel, 'id' | 'name' | keyof ModelPrices>

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER)
const usage = z.looseObject({
  prompt_tokens: count,
  completion_tokens: count.default(0),
  prompt_tokens_details: z.looseObject({ cached_tokens: count.nullish() }).nullish(),
})

/**
 * Reads what a server says that it has used. More than was asked for is not believed: it is cut to what was set aside.
 * @returns Null where it says nothing that can be understood.
 */
export function readUsage(said: unknown, most: UsedMost): Used | null {
  const read = usage.safeParse(said)
  if (!read.success) return null
  const inputTokens = Math.min(read.data.prompt_tokens, most.inputTokens)
  return {
    inputTokens,
    cachedTokens: Math.min(read.data.prompt_tokens_details?.cached_tokens ?? 0, inputTokens),
    outputTokens: Math.min(read.data.completion_tokens, most.outputTokens),
  }
}

/** What was used, as meters; those of which there is nothing are left out. */
export function metersOf(model: Priced, { inputTokens, cachedTokens, outputTokens }: Used): Meter[] {
  const meters = [
    { part: 'input', quantity: inputTokens - cachedTokens, rateMicro: model.input_micro_per_million },
    { part: 'cached', quantity: cachedTokens, rateMicro: model.cached_micro_per_million },
    { part: 'output', quantity: outputTokens, rateMicro: model.output_micro_per_million },
  ]
  return meters
    .filter(({ quantity }) => quantity > 0)
    .map(({ part, quantity, rateMicro }) => ({
      sku: `model.${model.id}.${part}`,
      label: `${model.name}, ${part}`,
      unit: 'million_tokens',
      quantity,
      rateMicro,
    }))
}

/** What a call costs at the most, in micro-units, rounded up. */
export function mostMicro(model: Priced, most: UsedMost): bigint {
  return modelMostMicro(model, most)
}
