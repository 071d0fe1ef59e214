import { setTimeout as sleep } from 'node:timers/promises'
import type { FilmServer, ModelAnswer, ModelRequest, ModelServer } from '../port.ts'
import type { DemoPictures } from './demo-pictures.ts'
import { demoVectors } from './demo-vectors.ts'

/** As fast as a person reads along. */
const WORD_MS = 25
/** Of the question, how much is said again. */
const ECHO_CHARS_MAX = 400

/**
 * What answers where no server of models is connected: by the same protocol, at a natural pace. It says that it is no model
 * and how one is connected (B11): in its first words, and in its pictures and films. A word counts as a token.
 */
export function createDemoServer(options: {
  model: string
  nowSeconds(): number
  pictures: DemoPictures
  films: FilmServer
  wordMs?: number
}): ModelServer {
  const { model, nowSeconds, pictures, films, wordMs = WORD_MS } = options

  /** Answers in words: to a chat, or a text that is gone on with. */
  async function words(request: ModelRequest): Promise<ModelAnswer> {
    const { path, body, signal } = request
    const isChat = path === 'chat/completions'
    const asked = wordsOf(textOf(isChat ? body.messages : body.prompt, request))
    const most = typeof body.max_tokens === 'number' ? body.max_tokens : Number.POSITIVE_INFINITY
    const all = wordsOf(answerTo(model, textOf(isChat ? lastOf(body.messages) : body.prompt, request)))
    const said = all.slice(0, most)
    const id = `${isChat ? 'chatcmpl' : 'cmpl'}-demo-${asked.length}-${said.length}`
    const parts: Said = {
      base: { id, created: nowSeconds(), model },
      isChat,
      words: said,
      finish_reason: said.length < all.length ? 'length' : 'stop',
      usage: {
        prompt_tokens: asked.length,
        completion_tokens: said.length,
        total_tokens: asked.length + said.length,
      },
      wordMs,
      signal,
    }
    return body.stream === true ? answer('text/event-stream', stream(parts)) : json(whole(parts))
  }

  async function draw({ body, signal }: ModelRequest): Promise<ModelAnswer> {
    const [width = 512, height = 512] = String(body.size).split('x').map(Number)
    const prompt = `${body.prompt}\n${body.negative_prompt ?? ''}`
    const data: object[] = []
    for (let number = 0; number < Number(body.n ?? 1); number++) {
      signal.throwIfAborted()
      const png = await pictures.make({ prompt, seed: Number(body.seed ?? 0), number, width, height, model })
      data.push({ b64_json: png.toString('base64') })
    }
    return json([Buffer.from(JSON.stringify({ created: nowSeconds(), data }))])
  }

  async function embed(request: ModelRequest): Promise<ModelAnswer> {
    return json([Buffer.from(JSON.stringify({ ...demoVectors(request), model }))])
  }

  const ANSWERS: Record<ModelRequest['path'], (request: ModelRequest) => Promise<ModelAnswer>> = {
    'chat/completions': words,
    completions: words,
    embeddings: embed,
    'images/generations': draw,
  }
  return { name: 'demo', ask: request => ANSWERS[request.path](request), films }
}

function answer(contentType: string, body: ModelAnswer['body']): ModelAnswer {
  return { status: 200, contentType, retryAfterSeconds: null, body }
}

function json(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): ModelAnswer {
  async function* body() {
    yield* pieces
  }
  return answer('application/json', body())
}

interface Said {
  base: { id: string; created: number; model: string }
  isChat: boolean
  words: string[]
  finish_reason: 'stop' | 'length'
  usage: object
  wordMs: number
  signal: AbortSignal
}

async function* stream(said: Said): AsyncGenerator<Uint8Array> {
  const { base, isChat, words, finish_reason, usage, wordMs, signal } = said
  const object = isChat ? 'chat.completion.chunk' : 'text_completion'
  const event = (part: object) => Buffer.from(`data: ${JSON.stringify({ ...base, object, ...part })}\n\n`)
  const choice = (content: string, finish: string | null = null, role: object = {}) =>
    event({
      choices: [
        {
          index: 0,
          ...(isChat ? { delta: { ...role, ...(finish === null && { content }) } } : { text: content }),
          finish_reason: finish,
        },
      ],
    })
  yield choice('', null, { role: 'assistant' })
  for (const word of words) {
    await sleep(wordMs, undefined, { signal })
    yield choice(word)
  }
  yield choice('', finish_reason)
  yield event({ choices: [], usage })
  yield Buffer.from('data: [DONE]\n\n')
}

async function* whole(said: Said): AsyncGenerator<Uint8Array> {
  const { base, isChat, words, finish_reason, usage, wordMs, signal } = said
  await sleep(wordMs, undefined, { signal })
  const content = words.join('')
  const spoken = isChat ? { message: { role: 'assistant', content } } : { text: content }
  const choices = [{ index: 0, ...spoken, finish_reason }]
  const object = isChat ? 'chat.completion' : 'text_completion'
  yield Buffer.from(JSON.stringify({ ...base, object, choices, usage }))
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

/** All text of messages, whatever form it has. Of long ones, which stand beside the body, the beginning. */
function textOf(value: unknown, request: Pick<ModelRequest, 'texts'>): string {
  if (typeof value === 'string') return spelled(value, request)
  if (Array.isArray(value))
    return value
      .map(one => textOf(one, request))
      .filter(Boolean)
      .join('\n')
  if (typeof value !== 'object' || value === null) return ''
  const { content, text } = value as { content?: unknown; text?: unknown }
  return textOf(content ?? text, request)
}

function spelled(text: string, { texts }: Pick<ModelRequest, 'texts'>): string {
  const long = texts.get(text)
  return long === undefined ? text : Buffer.from(long).toString('utf8', 1, ECHO_CHARS_MAX)
}
