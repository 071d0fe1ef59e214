import * as z from 'zod'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import type { UsedMost } from './used.ts'

const MESSAGES_MAX = 4_000
const MODEL_CHARS_MAX = 200
const CHOICES_MAX = 8

/**
 * What the gateway itself reads of a chat; whatever else the body holds is the server's business. What is asked for more
 * than once is refused rather than guessed.
 */
export const chatBody = z.looseObject({
  model: z.string().min(1).max(MODEL_CHARS_MAX),
  messages: z
    .array(z.looseObject({ role: z.string().max(40) }))
    .min(1)
    .max(MESSAGES_MAX),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: z.number().int().min(1).nullish(),
  max_completion_tokens: z.number().int().min(1).nullish(),
  n: z.number().int().min(1).max(CHOICES_MAX).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
})
export type ChatBody = z.output<typeof chatBody>

/** How many tokens an answer may have; null where more is asked for than the model gives. */
export function answerTokens(
  body: ChatBody,
  { output_tokens_max }: Pick<CatalogueModel, 'output_tokens_max'>,
) {
  const asked = body.max_completion_tokens ?? body.max_tokens ?? output_tokens_max
  return asked <= output_tokens_max ? asked : null
}

/**
 * What a chat uses at the most. A token is at least a byte of what is sent, so the bytes of the body are more tokens than
 * its messages ever have; and no model reads more than its context.
 */
export function mostOf(
  body: ChatBody,
  { bodyBytes, answer }: { bodyBytes: number; answer: number },
  { context_tokens }: Pick<CatalogueModel, 'context_tokens'>,
): UsedMost {
  return { inputTokens: Math.min(bodyBytes, context_tokens), outputTokens: answer * (body.n ?? 1) }
}

/**
 * The body as it is sent on: with the longest answer that is paid for, and with what was used at the end of a stream.
 */
export function sentBody(body: ChatBody, answer: number): Record<string, unknown> {
  const isNew = typeof body.max_completion_tokens === 'number'
  const { max_tokens: _, max_completion_tokens: __, ...rest } = body
  return {
    ...rest,
    ...(isNew ? { max_completion_tokens: answer } : { max_tokens: answer }),
    ...(body.stream && { stream_options: { ...body.stream_options, include_usage: true } }),
  }
}
