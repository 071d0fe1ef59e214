import * as z from 'zod'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import { allOf, eachOf, textsOrTokens } from './long-lists.ts'
import type { UsedMost } from './used.ts'

const MESSAGES_MAX = 4_000
const MODEL_CHARS_MAX = 200
const ROLE_CHARS_MAX = 40
const CHOICES_MAX = 8
const LOGPROBS_MAX = 20
const PROMPTS_MAX = 16
const PROMPT_TOKENS_MAX = 100_000
/** What the protocol says that a text is gone on with by, where nothing is said. */
const COMPLETION_TOKENS = 16

/** What clients say by habit and no server is to be told: that it keep what was asked, and what is paid for otherwise. */
const unsent = z
  .unknown()
  .optional()
  .transform(() => undefined)
const texts = allOf(z.string())
const anObject = z.looseObject({})
const objects = allOf(anObject)

/** What a question may say, however it is asked: of OpenAI's protocol, and of what most servers have beside it. */
const wordsFields = {
  model: z.string().min(1).max(MODEL_CHARS_MAX),
  stream: z.boolean().nullish(),
  stream_options: z
    .strictObject({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() })
    .nullish(),
  max_tokens: z.number().int().min(1).nullish(),
  n: z.number().int().min(1).max(CHOICES_MAX).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  logit_bias: allOf(z.number(), 'object').nullish(),
  seed: z.number().int().nullish(),
  stop: z.union([z.string(), texts]).nullish(),
  user: z.string().nullish(),
  top_k: z.number().int().nullish(),
  min_p: z.number().nullish(),
  typical_p: z.number().nullish(),
  repetition_penalty: z.number().nullish(),
  stop_token_ids: allOf(z.number().int()).nullish(),
  skip_special_tokens: z.boolean().nullish(),
  include_stop_str_in_output: z.boolean().nullish(),
  metadata: unsent,
  store: unsent,
}
const none = z.undefined().optional()

/** A message; what `content` may be is looked at with its pictures. Answers are sent back with all that they had. */
const message = z.strictObject({
  role: z.string().max(ROLE_CHARS_MAX),
  content: z.unknown().optional(),
  name: z.string().nullish(),
  refusal: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
  tool_calls: objects.nullish(),
  tool_call_id: z.string().nullish(),
  function_call: anObject.nullish(),
  audio: z.null().optional(),
  annotations: unsent,
  reasoning_details: unsent,
  provider_specific_fields: unsent,
})

/** Functions alone: other tools name addresses, or cost something of their own. */
const tool = z.union([
  z.strictObject({ type: z.literal('function'), function: anObject }),
  z.strictObject({ type: z.literal('custom'), custom: anObject }),
])

/**
 * A chat. What is not known here is refused rather than passed on (decision 0130): servers have other names for how long an
 * answer may be, and some for addresses and keys. So is what is asked for more than once.
 */
const chatBody = z.strictObject({
  ...wordsFields,
  messages: eachOf(message, MESSAGES_MAX),
  tools: allOf(tool).nullish(),
  tool_choice: z.union([z.string(), anObject]).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  functions: objects.nullish(),
  function_call: z.union([z.string(), anObject]).nullish(),
  response_format: anObject.nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.number().int().min(0).max(LOGPROBS_MAX).nullish(),
  reasoning_effort: z.string().nullish(),
  verbosity: z.string().nullish(),
  modalities: allOf(z.literal('text')).nullish(),
  prediction: z.strictObject({ type: z.literal('content'), content: z.string() }).nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_retention: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  chat_template_kwargs: allOf(z.union([z.string(), z.number(), z.boolean()]), 'object').nullish(),
  enable_thinking: z.boolean().nullish(),
  max_completion_tokens: z.number().int().min(1).nullish(),
  prompt: none,
  best_of: none,
})

/** And of a text that is to be gone on with: one, or several at once, each as text or as tokens. */
const completionBody = z.strictObject({
  ...wordsFields,
  echo: z.boolean().nullish(),
  suffix: z.string().nullish(),
  logprobs: z.number().int().min(0).max(LOGPROBS_MAX).nullish(),
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
 * its messages ever have; of its pictures their most tokens are among them. And no model reads more than its context.
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
