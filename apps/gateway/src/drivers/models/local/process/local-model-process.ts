// The process of the local model: a server of OpenAI's protocol on this computer's loopback, for the gateway alone. It knows
// the model's file and a secret, and nothing of the gateway's. It ends with the gateway.
import { timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAnswerChat, refuse, refusedWords } from './answer-chat.ts'
import { readAskedChat } from './asked-chat.ts'
import { loadModel } from './llama.ts'
import type { FromLocalModel, LocalModelOrders } from './words.ts'

/** What the gateway itself takes of a question, and what it adds. */
const BODY_BYTES_MAX = 5_000_000
const CHAT = '/v1/chat/completions'
const BAD_REQUEST = 400
const UNAUTHORIZED = 401
const FAILED = 500
const EXIT_FAILURE = 1

const say = (said: FromLocalModel) => process.send?.(said)

function sayError(text: string, error: unknown): void {
  const why = error instanceof Error ? (error.stack ?? error.message) : String(error)
  say({ says: 'error', text: `${text}: ${why}` })
}

process.once('message', (orders: LocalModelOrders) => void start(orders))
process.once('disconnect', () => process.exit(0))

async function start(orders: LocalModelOrders): Promise<void> {
  try {
    const model = await loadModel(orders)
    const answer = createAnswerChat(model)
    const server = createServer((request, response) => {
      void serve(request, response, orders.secret, answer).catch(error => {
        sayError('the local model failed at a question', error)
        if (response.headersSent) response.destroy()
        else refuse(response, FAILED, { message: 'The model failed.', code: null })
      })
    })
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      say({ says: 'listening', port, contextTokens: model.contextTokens })
    })
  } catch (error) {
    const { name, message } = error as Error
    // That there is too little memory does not change by trying again.
    if (name === 'InsufficientMemoryError') say({ says: 'unfit', why: message })
    else sayError('the local model could not be loaded', error)
    process.exitCode = EXIT_FAILURE
    process.disconnect()
  }
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  secret: string,
  answer: ReturnType<typeof createAnswerChat>,
): Promise<void> {
  if (!isSame(request.headers.authorization ?? '', `Bearer ${secret}`)) {
    return refuse(response, UNAUTHORIZED, { message: 'Who asks?', code: 'invalid_api_key' })
  }
  const body = await bodyOf(request)
  if (request.method !== 'POST' || request.url !== CHAT) {
    return refuse(response, BAD_REQUEST, { message: 'This model chats, and does nothing else.', code: null })
  }
  try {
    await answer(readAskedChat(body), String(body.model), response)
  } catch (error) {
    const message = refusedWords(error)
    if (message === null) throw error
    refuse(response, BAD_REQUEST, { message, code: null })
  }
}

function isSame(given: string, wanted: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(wanted)]
  return one.length === other.length && timingSafeEqual(one, other)
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of request) {
    bytes += (piece as Buffer).length
    if (bytes > BODY_BYTES_MAX) throw new Error('the question is too long')
    pieces.push(piece as Buffer)
  }
  return JSON.parse(Buffer.concat(pieces).toString('utf8') || '{}') as Record<string, unknown>
}
