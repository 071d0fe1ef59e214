/** A picture that is sent with a message. */
export interface Picture {
  id: string
  name: string
  /** Its media type, such as `image/png`. */
  type: string
  size: number
  /** All of it, as a `data:` address. */
  address: string
}

/** What somebody writes to models. */
export interface Prompt {
  text: string
  pictures: readonly Picture[]
}

/** Why a model did not answer, or not to the end. */
export interface AnswerFailure {
  /** Ours, or that of whoever was asked; null where there is none. */
  code: string | null
  message: string
  /** By how many tokens it was too long, where that is known. */
  tokensTooMany: number | null
}

/**
 * `waiting` until its first piece, `writing`, and then one of: `done`; `stopped` by whoever asked; `broke_off`, with what
 * had come; `failed`, with nothing.
 */
export type AnswerState = 'waiting' | 'writing' | 'done' | 'stopped' | 'broke_off' | 'failed'

/** A model's answer to one prompt. Moments are of a clock that only counts on, in milliseconds. */
export interface Answer {
  state: AnswerState
  text: string
  /** What the model thought aloud before it answered. */
  thoughts: string
  askedMs: number
  firstMs: number | null
  endMs: number | null
  /** Pieces that came; most are a token. */
  pieces: number
  /** As the gateway counted, at the end. */
  tokens: { input: number; output: number } | null
  /** What it cost in micro-units, as the gateway charged; null while that is not known. */
  costMicro: string | null
  /** It has as many tokens as it may have, and was cut there. */
  isCut: boolean
  failure: AnswerFailure | null
}

/** One prompt, and what each model answered. */
export interface Turn {
  id: string
  prompt: Prompt
  /** Since 1970, in milliseconds. */
  atMs: number
  /** By the model's id. */
  answers: Readonly<Record<string, Answer>>
}

/** What is left of an answer that another one has taken the place of: it was charged all the same. */
export interface ReplacedAnswer extends Pick<Answer, 'pieces' | 'tokens' | 'costMicro'> {
  modelId: string
}

/** Whether an answer is still being made. */
export function isUnderWay({ state }: Answer): boolean {
  return state === 'waiting' || state === 'writing'
}

/** Tokens a second from the first piece on; null while it cannot be said. */
export function speedOf({ firstMs, endMs, tokens, pieces }: Answer, nowMs: number): number | null {
  const seconds = firstMs === null ? 0 : ((endMs ?? nowMs) - firstMs) / 1_000
  const count = tokens?.output ?? pieces
  // Of a word or two no speed can be told.
  return seconds < 0.1 || count < 2 ? null : count / seconds
}
