import * as z from 'zod'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import { eachOf, textsOrTokens } from './long-lists.ts'
import type { UsedMost } from './used.ts'

const MESSAGES_MAX = 4_000
const ROLE_CHARS_MAX = 40
const MODEL_CHARS_MAX = 200
const CHOICES_MAX = 8
const PROMPTS_MAX = 16
const PROMPT_TOKENS_MAX = 100_000
/** What the protocol says that a text is gone on with by, where nothing is said. */
const COMPLETION_TOKENS = 16

/** What is read of a question, however it is asked. */
const wordsFields = {
  model: z.string().min(1).max(MODEL_CHARS_MAX),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: z.number().int().min(1).nullish(),
  n: z.number().int().min(1).max(CHOICES_MAX).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
}
const none = z.undefined().optional()

/** Whatever else it has is the server's business. */
type Message = { role: string } & Record<string, unknown>

function isMessage(one: unknown): one is Message {
  if (typeof one !== 'object' || one === null) return false
  const { role } = one as { role?: unknown }
  return typeof role === 'string' && role.length <= ROLE_CHARS_MAX
}

/**
 * What the gateway itself reads of a chat; whatever else the body holds is the server's business. What is asked for more
 * than once is refused rather than guessed.
 */
const chatBody = z.looseObject({
  ...wordsFields,
  messages: eachOf<Message>(isMessage, MESSAGES_MAX),
  max_completion_tokens: z.number().int().min(1).nullish(),
  prompt: none,
  best_of: none,
})

/** And of a text that is to be gone on with: one, or several at once, each as text or as tokens. */
const completionBody = z.looseObject({
  ...wordsFields,
  prompt: textsOrTokens({ textsMax: PROMPTS_MAX, tokensMax: PROMPT_TOKENS_MAX }),
  best_of: z.number().int().min(1).max(CHOICES_MAX).nullish(),
  messages: none,
  max_completion_tokens: none,
})

/** The bodies of questions that are answered in words, by the path that they are asked at. */
export const WORDS_BODIES = { 'chat/completions': chatBody, completions: completionBody } as const
export type WordsPath = keyof typeof WORDS_BODIES
export type ChatBody = z.output<typeof chatBody>
export type WordsBody = ChatBody | z.output<typeof completionBody>

/** How many tokens an answer may have; null where more is asked for than the model gives. */
export function answerTokens(
  body: WordsBody,
  { output_tokens_max }: Pick<CatalogueModel, 'output_tokens_max'>,
) {
  const unsaid = body.messages ? output_tokens_max : Math.min(COMPLETION_TOKENS, output_tokens_max)
  const asked = body.max_completion_tokens ?? body.max_tokens ?? unsaid
  return asked <= output_tokens_max ? asked : null
}

/**
 * What a question uses at the most. A token is at least a byte of what is sent, so the bytes of the body are more tokens than
 * its messages ever have; and no model reads more than its context.
 */
export function mostOf(
  body: WordsBody,
  { bodyBytes, answer }: { bodyBytes: number; answer: number },
  { context_tokens }: Pick<CatalogueModel, 'context_tokens'>,
): UsedMost {
  const prompts = promptsOf(body)
  const choices = Math.max(body.n ?? 1, body.best_of ?? 1) * prompts
  return { inputTokens: Math.min(bodyBytes, context_tokens * prompts), outputTokens: answer * choices }
}

function promptsOf({ prompt }: WordsBody): number {
  return Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt.length : 1
}

/**
 * The body as it is sent on: with the longest answer that is paid for, and with what was used at the end of a stream.
 */
export function sentBody(body: WordsBody, answer: number): Record<string, unknown> {
  const isNew = typeof body.max_completion_tokens === 'number'
  const { max_tokens: _, max_completion_tokens: __, ...rest } = body
  return {
    ...rest,
    ...(isNew ? { max_completion_tokens: answer } : { max_tokens: answer }),
    ...(body.stream && { stream_options: { ...body.stream_options, include_usage: true } }),
  }
}
