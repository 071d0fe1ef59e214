import type { Model } from '@berth/contract/models'

/** What can be said of how a model answers (R3.14), by its names in OpenAI's protocol and its kin. */
export const PARAMETERS = [
  'max_tokens',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'repetition_penalty',
] as const
export type ParameterName = (typeof PARAMETERS)[number]
export type Parameters = Record<ParameterName, number>

/** From where to where a parameter goes, what it usually is, and how far apart its steps are. */
export interface ParameterRange {
  min: number
  max: number
  usual: number
  step: number
}

const MAX_TOKENS_USUAL = 1_024
/** Where models say nothing of the longest answer. */
const MAX_TOKENS_MOST = 4_096

/** The gateway and most servers refuse what lies outside. */
const RANGES: Record<Exclude<ParameterName, 'max_tokens'>, ParameterRange> = {
  temperature: { min: 0, max: 2, usual: 1, step: 0.01 },
  top_p: { min: 0, max: 1, usual: 1, step: 0.01 },
  presence_penalty: { min: -2, max: 2, usual: 0, step: 0.01 },
  frequency_penalty: { min: -2, max: 2, usual: 0, step: 0.01 },
  repetition_penalty: { min: 0, max: 2, usual: 1, step: 0.01 },
}

/**
 * The range of a parameter.
 * @param models Those that it is for: an answer is no longer than each of them gives.
 */
export function rangeOf(
  name: ParameterName,
  models: readonly Pick<Model, 'output_tokens_max'>[],
): ParameterRange {
  if (name !== 'max_tokens') return RANGES[name]
  const max = models.length === 0 ? MAX_TOKENS_MOST : Math.min(...models.map(one => one.output_tokens_max))
  return { min: 1, max, usual: Math.min(MAX_TOKENS_USUAL, max), step: 1 }
}

/** What parameters are where nobody chose them. */
export const USUAL: Parameters = Object.fromEntries(
  PARAMETERS.map(name => [name, rangeOf(name, []).usual]),
) as Parameters

/** The nearest number that a parameter may be: within its range, on one of its steps. */
export function fitted(value: number, { min, max, step }: ParameterRange): number {
  const steps = Math.round(Math.min(max, Math.max(min, value)) / step)
  return Number((steps * step).toFixed(2))
}

/**
 * Parameters as a model is sent them. What stands where it usually does is left out, since not every server knows every
 * one; the longest answer is always said, since it is what is held back for.
 */
export function sentParameters(
  chosen: Parameters,
  model: Pick<Model, 'output_tokens_max'>,
): Partial<Parameters> {
  const sent = PARAMETERS.flatMap(name => {
    const range = rangeOf(name, [model])
    const value = fitted(chosen[name], range)
    return name === 'max_tokens' || value !== range.usual ? [[name, value] as const] : []
  })
  return Object.fromEntries(sent)
}
