import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** What came to it. */
export interface AskedOfModel {
  url: string
  authorization: string | undefined
  /** Empty where it is no JSON. */
  body: Record<string, unknown>
  /** As it came, a character for each byte. */
  text: string
  /** Resolves when whoever asked has left before the answer was whole. */
  left: Promise<void>
}

export interface ModelServerDouble {
  /** Up to where the paths of the protocol begin. */
  url: string
  asked: AskedOfModel[]
  /** How the next calls are answered, in their order; the last one stays. */
  answer(...how: Answering[]): void
  close(): Promise<void>
}

type Answering = (response: ServerResponse, asked: AskedOfModel) => void | Promise<void>

/** A server that speaks OpenAI's protocol and does what a test tells it to. */
export async function startModelServer(): Promise<ModelServerDouble> {
  const asked: AskedOfModel[] = []
  let queue: Answering[] = [says('Hello')]
  const server = createServer((request, response) => {
    void (async () => {
      const bytes = await bytesOf(request)
      const isJson = request.headers['content-type'] === 'application/json'
      const body = (isJson ? JSON.parse(bytes.toString('utf8') || '{}') : {}) as Record<string, unknown>
      const left = new Promise<void>(resolve =>
        response.once('close', () => {
          if (!response.writableFinished) resolve()
        }),
      )
      const one = {
        url: request.url ?? '',
        authorization: request.headers.authorization,
        body,
        left,
        text: bytes.toString('latin1'),
      }
      asked.push(one)
      const how = queue.length > 1 ? queue.shift() : queue[0]
      await how?.(response, one)
    })()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asked,
    answer(...how) {
      queue = how
    },
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

const BASE = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'theirs' }

const eventOf = (part: object) =>
  `data: ${JSON.stringify({ ...BASE, object: 'chat.completion.chunk', ...part })}\n\n`
const pieceOf = (content: string) =>
  eventOf({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })
const usageOf = (usage: object) => eventOf({ choices: [], usage })

/** Answers with text and what it used, whole or as a stream, as it is asked. */
export function says(
  text: string,
  usage: object | null = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
): Answering {
  return (response, { body }) => {
    if (body.stream !== true) {
      response.writeHead(200, { 'content-type': 'application/json' })
      const choices = [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }]
      response.end(JSON.stringify({ ...BASE, object: 'chat.completion', choices, ...(usage && { usage }) }))
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(pieceOf(''))
    for (const word of text.split(/(?<= )/)) response.write(pieceOf(word))
    response.write(eventOf({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
    if (usage) response.write(usageOf(usage))
    response.end('data: [DONE]\n\n')
  }
}

/** Refuses as servers do. */
export function refuses(status: number, message: string): Answering {
  return response => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
    )
  }
}

/** Begins to stream, perhaps with what it has used so far, and goes on for ever or breaks off. */
export function begins(words: string[], then: 'hangs' | 'breaks', usage: object | null = null): Answering {
  return response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(pieceOf(''))
    if (usage) response.write(usageOf(usage))
    for (const word of words) response.write(pieceOf(word))
    if (then === 'breaks') setTimeout(() => response.destroy(), 50)
  }
}

/** Streams so many tokens, with a pause after each. */
export function speaks(tokens: number, pauseMs: number): Answering {
  return async response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let spoken = 0; spoken < tokens; spoken++) {
      response.write(pieceOf('x '))
      await sleep(pauseMs)
    }
    response.write(usageOf({ prompt_tokens: 10, completion_tokens: tokens, total_tokens: tokens + 10 }))
    response.end('data: [DONE]\n\n')
  }
}

/** Streams its first half, and the other one once it is told to go on. */
export function pauses(halves: readonly [string, string], until: Promise<unknown>, usage: object): Answering {
  return async response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(pieceOf(halves[0]))
    await until
    response.write(pieceOf(halves[1]))
    response.write(usageOf(usage))
    response.end('data: [DONE]\n\n')
  }
}
