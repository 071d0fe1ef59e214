import { type ModelPrices, type ModelUse, modelMostMicro, NO_USE } from '@berth/contract/model-cost'
import * as z from 'zod'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import type { Meter } from '../../billing/billing.ts'

/** What a call has used. */
export type Used = ModelUse

/** What a call may use at the most: so much is set aside for it. */
export type UsedMost = Partial<ModelUse> & Pick<ModelUse, 'inputTokens' | 'outputTokens'>

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
    ...NO_USE,
    inputTokens,
    cachedTokens: Math.min(read.data.prompt_tokens_details?.cached_tokens ?? 0, inputTokens),
    outputTokens: Math.min(read.data.completion_tokens, most.outputTokens),
  }
}

/** What was used, as meters; those of which there is nothing are left out. */
export function metersOf(model: Priced, used: Used): Meter[] {
  const { inputTokens, cachedTokens, outputTokens, images, videoSeconds } = used
  const tokens = 'million_tokens'
  const meters = [
    {
      part: 'input',
      unit: tokens,
      quantity: inputTokens - cachedTokens,
      rateMicro: model.input_micro_per_million,
    },
    { part: 'cached', unit: tokens, quantity: cachedTokens, rateMicro: model.cached_micro_per_million },
    { part: 'output', unit: tokens, quantity: outputTokens, rateMicro: model.output_micro_per_million },
    { part: 'image', unit: 'image', quantity: images, rateMicro: model.image_micro },
    { part: 'video', unit: 'video_second', quantity: videoSeconds, rateMicro: model.video_micro_per_second },
  ] as const
  return meters
    .filter(({ quantity }) => quantity > 0)
    .map(({ part, ...meter }) => ({
      ...meter,
      sku: `model.${model.id}.${part}`,
      label: `${model.name}, ${part}`,
    }))
}

/** What a call costs at the most, in micro-units, rounded up. */
export function mostMicro(model: Priced, most: UsedMost): bigint {
  return modelMostMicro(model, most)
}
