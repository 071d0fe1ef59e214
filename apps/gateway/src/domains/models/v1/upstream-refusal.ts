import type { OpenAiError } from './openai-errors.ts'

/** Of what a server says, so much is read, and so much passed on: a sentence or two that help whoever asked. */
const READ_CHARS_MAX = 2_000
const MESSAGE_CHARS_MAX = 500
/** Names of kinds, fields and codes, as the protocol has them. */
const NAME = /^[\w.[\] -]{1,100}$/
/** How servers say that there is more than a model has context for, where their code does not. */
const TOO_LONG =
  /context (?:length|window|size)|maximum context|too many tokens|prompt is too long|must be <= \d+\. Given/i
const TOO_LONG_CODES: readonly unknown[] = ['context_length_exceeded', 'exceed_context_size_error']

/** What tells where a server stands, who it knows, and how it is made; none of that is the customer's. */
const INNER = [
  /Traceback[\s\S]*$/,
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>)\]]+/gi,
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g,
  /\[[0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*\](?::\d{1,5})?/gi,
  /\b(?:localhost|[a-z0-9-]+(?:\.[a-z0-9-]+)+):\d{2,5}\b/gi,
  /\b[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:local|internal|lan|svc|intranet|corp|home)\b(?:\.[a-z0-9-]+)*/gi,
  /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g,
  /\bBearer\s+\S+/gi,
  /\b(?:sk|pk|rk|hf|key|token|org|proj)[-_][\w*.-]{6,}/gi,
  /\b(?=[\w-]*\d)[\w-]{32,}\b/g,
  /(?<![\w.])\/(?:usr|home|opt|root|var|app|workspace|data|mnt|models?|srv|tmp|etc)\/[^\s"'<>)\]]*/g,
] as const

/** How servers say how much was asked and how much there is room for, the surest first. */
const NUMBERS = [
  // vLLM: how long the answer may be counts, too.
  /context (?:length|window|size)\D{0,40}(?<limit>\d[\d,]*)[\s\S]{0,300}?total of(?: at least)? (?<asked>\d[\d,]*)/i,
  // OpenAI, vLLM, SGLang, LiteLLM.
  /context (?:length|window|size)\D{0,40}(?<limit>\d[\d,]*)[\s\S]{0,80}?(?:requested|resulted in|passed|sent|has|have|contains?)\D{0,40}(?<asked>\d[\d,]*)/i,
  // llama.cpp, SGLang, Anthropic.
  /(?<asked>\d[\d,]*) tokens?\)?[\s\S]{0,60}?(?:exceeds?|longer than|larger than|>)\D{0,60}(?<limit>\d[\d,]*)/i,
  // TGI.
  /must be <= (?<limit>\d[\d,]*)\. Given: (?<asked>\d[\d,]*) `inputs` tokens and (?<more>\d[\d,]*)/i,
] as const

/** A question that was longer than the model's context, and by how much, where its server says that. */
export interface TooLong {
  numbers: { limit: number; asked: number } | null
}

/** What a server refused, in words that a customer may be told. */
export interface UpstreamRefusal {
  error: OpenAiError['error']
  /** Null where something else was wrong. */
  tooLong: TooLong | null
}

/**
 * Reads the refusal of a server, where it is one. Its words are passed on, for they help; but no more than a sentence or
 * two, and nothing of where it stands and what it is given to know.
 */
export function readRefusal(text: Buffer): UpstreamRefusal | null {
  const error = errorOf(text)
  if (typeof error?.message !== 'string') return null
  const said = error.message.slice(0, READ_CHARS_MAX)
  const isTooLong =
    [error.code, error.type].some(name => TOO_LONG_CODES.includes(name)) || TOO_LONG.test(said)
  return {
    error: {
      message: cleaned(said),
      type: nameOf(error.type) ?? 'invalid_request_error',
      param: nameOf(error.param),
      code: isTooLong ? 'context_length_exceeded' : nameOf(error.code),
    },
    tooLong: isTooLong ? { numbers: numbersOf(said, error) } : null,
  }
}

function errorOf(text: Buffer): Record<string, unknown> | null {
  try {
    const said = JSON.parse(text.toString('utf8')) as Record<string, unknown> | null
    const { error } = said ?? {}
    if (typeof error === 'string') return { message: error }
    if (typeof error === 'object' && error !== null) return error as Record<string, unknown>
    // vLLM of before its 0.9, and SGLang.
    return said?.object === 'error' ? said : null
  } catch {
    return null
  }
}

function nameOf(value: unknown): string | null {
  return typeof value === 'string' && NAME.test(value) && cleaned(value) === value ? value : null
}

/** A sentence that a customer may be told. */
export function cleaned(said: string): string {
  // Whatever a terminal or a page would take for more than a letter.
  const plain = said.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]+/gu, ' ')
  const safe = INNER.reduce<string>((text, inner) => text.replace(inner, '…'), plain)
  const short = safe.replace(/\s+/g, ' ').trim()
  return short.length <= MESSAGE_CHARS_MAX ? short : `${short.slice(0, MESSAGE_CHARS_MAX - 1)}…`
}

function numbersOf(said: string, error: Record<string, unknown>): TooLong['numbers'] {
  // llama.cpp says them as such.
  const { n_prompt_tokens: prompt, n_ctx: context } = error
  if (typeof prompt === 'number' && typeof context === 'number') return checked(context, prompt)
  for (const pattern of NUMBERS) {
    const { limit, asked, more } = pattern.exec(said)?.groups ?? {}
    const numbers = checked(numberOf(limit), numberOf(asked) + (more === undefined ? 0 : numberOf(more)))
    if (numbers) return numbers
  }
  return null
}

const numberOf = (text: string | undefined) => Number((text ?? '').replaceAll(',', '') || Number.NaN)

function checked(limit: number, asked: number): TooLong['numbers'] {
  const isNumber = [limit, asked].every(one => Number.isSafeInteger(one) && one > 0)
  return isNumber && asked > limit ? { limit, asked } : null
}
