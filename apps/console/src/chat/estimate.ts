import { modelMostMicro } from '@berth/contract/model-cost'
import type { Model } from '@berth/contract/models'
import { guessTokens, TOKENS_AROUND } from '@berth/contract/token-guess'
import { type Message, messagesFor } from './messages.ts'
import type { Prompt, Turn } from './turns.ts'

/** What a message will use and cost with one model, before it is sent. */
export interface Estimate {
  /** Tokens of all that is sent, about. */
  tokens: number
  /** Tokens that the answer may have. */
  answerTokens: number
  /** So much is held back while it answers: no more than that is charged, in micro-units. */
  mostMicro: bigint
  /** By how many tokens it is too long for the model, about; 0 where it fits. */
  tokensTooMany: number
}

/**
 * What the next message costs at the most, by the gateway's own formula, and what it has about.
 * @param body What the model would be sent.
 * @param model That model.
 */
export function estimateOf(
  body: { messages: readonly Message[]; max_tokens?: number },
  model: Model,
): Estimate {
  const sizes = body.messages.map(sizeOf)
  const { messages: _, ...rest } = body
  const bytes = sizes.reduce((sum, one) => sum + one.bytes + 1, bytesOf({ ...rest, messages: [] }))
  const tokens = sizes.reduce((sum, one) => sum + one.tokens + TOKENS_AROUND, 0)
  const answerTokens = body.max_tokens ?? model.output_tokens_max
  return {
    tokens,
    answerTokens,
    // A token is at least a byte of what is sent, and no model reads more than its context.
    mostMicro: modelMostMicro(model, {
      inputTokens: Math.min(bytes, model.context_tokens),
      outputTokens: answerTokens,
    }),
    tokensTooMany: Math.max(0, tokens + answerTokens - model.context_tokens),
  }
}

const sizes = new WeakMap<Turn, Map<string, readonly Message[]>>()
const known = new WeakMap<Message, { bytes: number; tokens: number }>()

/**
 * As `messagesFor`, with the same messages for turns that are the same: what has been counted is not counted again with
 * each letter that is typed.
 */
export function countedMessages(
  modelId: string,
  turns: readonly Turn[],
  prompt: Prompt,
  system: string,
): Message[] {
  const earlier = turns.flatMap(turn => {
    const byModel = sizes.get(turn) ?? new Map<string, readonly Message[]>()
    sizes.set(turn, byModel)
    const before = byModel.get(modelId) ?? messagesFor(modelId, [turn], NOTHING, '').slice(0, -1)
    byModel.set(modelId, before)
    return before
  })
  const now = messagesFor(modelId, [], prompt, system)
  return [...now.slice(0, -1), ...earlier, ...now.slice(-1)]
}

const NOTHING: Prompt = { text: '', pictures: [] }

function sizeOf(message: Message): { bytes: number; tokens: number } {
  const found = known.get(message)
  if (found) return found
  const made = { bytes: messageBytes(message), tokens: tokensOf(message) }
  known.set(message, made)
  return made
}

/** Of pictures nothing is guessed: each model cuts them in its own way. */
function tokensOf({ content }: Message): number {
  if (typeof content === 'string') return guessTokens(content)
  return content.reduce((sum, part) => sum + (part.type === 'text' ? guessTokens(part.text) : 0), 0)
}

/** Pictures are megabytes of plain letters: those are not written out with each letter that is typed. */
function messageBytes(message: Message): number {
  const { content } = message
  if (typeof content === 'string') return bytesOf(message)
  const parts = content.map(part => (part.type === 'text' ? part : { ...part, image_url: { url: '' } }))
  const pictures = content.map(part => (part.type === 'text' ? 0 : part.image_url.url.length))
  return bytesOf({ ...message, content: parts }) + pictures.reduce((sum, one) => sum + one, 0)
}

function bytesOf(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length
}
