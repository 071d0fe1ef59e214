import type { Model } from './models.ts'

/** What a call of a model used, or will use. */
export interface ModelUse {
  /** Tokens of what is asked; of those, `cachedTokens` are in the server's cache. */
  inputTokens: number
  cachedTokens: number
  outputTokens: number
  images: number
  videoSeconds: number
}

/** Nothing used. */
export const NO_USE: ModelUse = {
  inputTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  images: 0,
  videoSeconds: 0,
}

/** Prices in micro-units, as a call tells them or as the gateway has them. */
export type ModelPrices = Record<
  keyof Pick<
    Model,
    | 'input_micro_per_million'
    | 'cached_micro_per_million'
    | 'output_micro_per_million'
    | 'image_micro'
    | 'video_micro_per_second'
  >,
  bigint | string
>

const PER_MILLION = 1_000_000n

/**
 * What a call of a model costs: the one formula of the console's price before, and of the gateway's charge.
 * @param prices Of the model.
 * @param use What it used; what is left out is none.
 * @returns Micro-units, rounded down once.
 */
export function modelCostMicro(prices: ModelPrices, use: Partial<ModelUse>): bigint {
  return millionths(prices, use) / PER_MILLION
}

/**
 * What is set aside for a call of a model, before it is known what it will use.
 * @param prices Of the model.
 * @param most What it may use at the most.
 * @returns Micro-units, rounded up, so that they cover {@link modelCostMicro} of whatever is within.
 */
export function modelMostMicro(prices: ModelPrices, most: Partial<ModelUse>): bigint {
  return (millionths(prices, most) + PER_MILLION - 1n) / PER_MILLION
}

/** Of a micro-unit. */
function millionths(prices: ModelPrices, use: Partial<ModelUse>): bigint {
  const { inputTokens, cachedTokens, outputTokens, images, videoSeconds } = { ...NO_USE, ...use }
  return (
    BigInt(inputTokens - cachedTokens) * BigInt(prices.input_micro_per_million) +
    BigInt(cachedTokens) * BigInt(prices.cached_micro_per_million) +
    BigInt(outputTokens) * BigInt(prices.output_micro_per_million) +
    BigInt(images) * BigInt(prices.image_micro) * PER_MILLION +
    BigInt(videoSeconds) * BigInt(prices.video_micro_per_second) * PER_MILLION
  )
}
