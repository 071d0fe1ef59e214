import * as z from 'zod'
import { jsonOf } from './asked-json.ts'
import { textsOrTokens } from './long-lists.ts'

const INPUTS_MAX = 2_048
const INPUT_TOKENS_MAX = 100_000

/**
 * What vectors are asked by. What is not known here is refused rather than passed on (decision 0130): some servers take
 * messages beside it, with addresses of pictures.
 */
export const embeddingBody = z.strictObject({
  model: z.string().min(1).max(200),
  input: textsOrTokens({ textsMax: INPUTS_MAX, tokensMax: INPUT_TOKENS_MAX, charsMin: 1 }),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.number().int().min(1).max(100_000).nullish(),
  user: z.string().nullish(),
})

/** Of how many texts vectors are made. */
export function inputsOf({ input }: Pick<z.output<typeof embeddingBody>, 'input'>): number {
  return Array.isArray(input) && typeof input[0] !== 'number' ? input.length : 1
}

/** What an answer says that was used: it stands beside vectors of millions of digits, which nobody reads here. */
export function usageOf(answer: Buffer): unknown {
  const at = answer.lastIndexOf('"usage"')
  if (at === -1) return null
  const near = answer.toString('utf8', at, at + USAGE_BYTES_MAX)
  const said = /^"usage"\s*:\s*(\{(?:[^{}]|\{[^{}]*\})*\})/.exec(near)?.[1]
  return said === undefined ? null : jsonOf(said)
}
const USAGE_BYTES_MAX = 2_048
