import { setTimeout as sleep } from 'node:timers/promises'
import type { ChatAnswer, ChatRequest, ModelServer } from '../port.ts'

/** As fast as a person reads along. */
const WORD_MS = 25
/** Of the question, how much is said again. */
const ECHO_CHARS_MAX = 400

/**
 * What answers where no server of models is connected: by the same protocol, at a natural pace, and its first words say
 * that it is no model and how one is connected (B11). A word counts as a token.
 */
export function createDemoServer(options: {
  model: string
  nowSeconds(): number
  wordMs?: number
}): ModelServer {
  const { model, nowSeconds, wordMs = WORD_MS } = options

  async function chat({ body, signal }: ChatRequest): Promise<ChatAnswer> {
    const asked = wordsOf(textOf(body.messages))
    const most = typeof body.max_tokens === 'number' ? body.max_tokens : Number.POSITIVE_INFINITY
    const all = wordsOf(answerTo(model, textOf(lastOf(body.messages))))
    const words = all.slice(0, most)
    const base = { id: `chatcmpl-demo-${asked.length}-${words.length}`, created: nowSeconds(), model }
    const finish_reason = words.length < all.length ? 'length' : 'stop'
    const usage = {
      prompt_tokens: asked.length,
      completion_tokens: words.length,
      total_tokens: asked.length + words.length,
    }
    const isStream = body.stream === true
    return {
      status: 200,
      contentType: isStream ? 'text/event-stream' : 'application/json',
      retryAfterSeconds: null,
      body: isStream
        ? stream({ base, words, finish_reason, usage, wordMs, signal })
        : whole({ base, words, finish_reason, usage, wordMs, signal }),
    }
  }

  return { name: 'demo', chat }
}

interface Said {
  base: { id: string; created: number; model: string }
  words: string[]
  finish_reason: 'stop' | 'length'
  usage: object
  wordMs: number
  signal: AbortSignal
}

async function* stream(said: Said): AsyncGenerator<Uint8Array> {
  const { base, words, finish_reason, usage, wordMs, signal } = said
  const event = (part: object) =>
    Buffer.from(`data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', ...part })}\n\n`)
  const choice = (delta: object, finish: string | null = null) =>
    event({ choices: [{ index: 0, delta, finish_reason: finish }] })
  yield choice({ role: 'assistant', content: '' })
  for (const word of words) {
    await sleep(wordMs, undefined, { signal })
    yield choice({ content: word })
  }
  yield choice({}, finish_reason)
  yield event({ choices: [], usage })
  yield Buffer.from('data: [DONE]\n\n')
}

async function* whole(said: Said): AsyncGenerator<Uint8Array> {
  const { base, words, finish_reason, usage, wordMs, signal } = said
  await sleep(wordMs, undefined, { signal })
  const message = { role: 'assistant', content: words.join('') }
  const choices = [{ index: 0, message, finish_reason }]
  yield Buffer.from(JSON.stringify({ ...base, object: 'chat.completion', choices, usage }))
}

function answerTo(model: string, question: string): string {
  const echo = question.slice(0, ECHO_CHARS_MAX)
  return [
    `No model is connected to this installation: these words come from Berth itself, not from ${model}.`,
    `To connect one, name a server that speaks OpenAI's protocol under \`servers\` of this model in the catalogue, and start the gateway again.`,
    ...(echo === '' ? [] : [`You wrote: ${echo}`]),
  ].join('\n\n')
}

/** Words with the space before them, as tokens often are. */
function wordsOf(text: string): string[] {
  return text.match(/\s*\S+/g) ?? []
}

function lastOf(messages: unknown): unknown {
  return Array.isArray(messages) ? messages.at(-1) : undefined
}

/** All text of messages, whatever form it has. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.map(textOf).filter(Boolean).join('\n')
  if (typeof value !== 'object' || value === null) return ''
  const { content, text } = value as { content?: unknown; text?: unknown }
  return textOf(content ?? text)
}
