import { Readable } from 'node:stream'
import { CHAT_KINDS, type ChatCost } from '@berth/contract/models'
import type { Logger } from 'pino'
import type { ChatAnswer, ModelServer } from '../../../drivers/models/port.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { fieldPath } from '../../../platform/http/field-errors.ts'
import { faultOf } from '../../../platform/http/json-scan.ts'
import { createAskServers } from './ask-servers.ts'
import type { CallBook, CallEnd, ModelCaller } from './call-book.ts'
import { answerTokens, chatBody, mostOf, sentBody } from './chat-body.ts'
import { createEventReader, dataOf, EventTooLong } from './event-reader.ts'
import { readUsage, type Used, type UsedMost } from './used.ts'

/** An answer that is not streamed, and a refusal, are kept in memory up to so much. */
const ANSWER_BYTES_MAX = 16_777_216
const REFUSAL_BYTES_MAX = 65_536
/** A streamed token with all around it is never so long on average. */
const BYTES_PER_TOKEN_MAX = 4_096
/** No answer takes longer. */
const CALL_MS_MAX = 30 * 60_000
/** Calls of one customer that one gateway has under way. */
const AT_ONCE_MAX = 200
/** Where a server does not say what it has used: letters that a token has, by which what was sent is counted. */
const BYTES_PER_TOKEN = 4
const OK = 200
const REFUSED = 400

export interface ChatDeps {
  clock: Clock
  log: Pick<Logger, 'error' | 'warn'>
  book: Pick<CallBook, 'begin' | 'end'>
  models: readonly CatalogueModel[]
  servers: ReadonlyMap<string, readonly ModelServer[]>
}

/** A chat as it came. */
export interface ChatInput {
  text: Buffer
  signal: AbortSignal
  tellsCost?: boolean
}

/** What came of a call: a whole answer, a stream of events, or the refusal of whoever was asked. */
export interface ChatReply {
  callId: string
  status: number
  streamed: boolean
  body: Buffer | Readable
  /** Null while it is not known: of a stream it stands in the log of calls. */
  costMicro: bigint | null
}

/** A call that is under way. */
interface Running {
  caller: ModelCaller
  model: CatalogueModel
  callId: string
  most: UsedMost
  /** Bytes of what was asked, by which it is counted where nobody says more. */
  bodyBytes: number
  /** Whether the customer asked to be told at the end of a stream what was used, and whether to be told what it cost. */
  tellsUsage: boolean
  tellsCost: boolean
  startedMs: number
  /** Aborts when the customer leaves. */
  signal: AbortSignal
}

/** Chats with hosted models (B10). */
export function createChat(deps: ChatDeps) {
  const { log, book } = deps
  const ask = createAskServers(deps)
  const atOnce = new Map<string, number>()
  /** Ends that are being written down. */
  const ending = new Set<Promise<unknown>>()

  function modelOf(id: string): CatalogueModel {
    const found = deps.models.find(one => one.id === id)
    if (!found) throw new ApiError('model_unknown', { values: { model: id } })
    if (!CHAT_KINDS.includes(found.kind)) throw new ApiError('model_kind', { values: { model: id } })
    return found
  }

  function enter({ userId }: ModelCaller): () => void {
    const others = atOnce.get(userId) ?? 0
    if (others >= AT_ONCE_MAX) throw new ApiError('too_many_requests', { values: { seconds: 1 } })
    atOnce.set(userId, others + 1)
    return () => {
      const left = (atOnce.get(userId) ?? 1) - 1
      if (left > 0) atOnce.set(userId, left)
      else atOnce.delete(userId)
    }
  }

  /** Writes the end of a call down, whoever waits for it. */
  function end(
    { caller, model, callId, startedMs }: Running,
    how: Omit<CallEnd, 'firstByteMs'>,
    firstMs: number | null,
  ) {
    const firstByteMs = firstMs === null ? null : Math.max(0, Math.round(firstMs - startedMs))
    const ended = book.end(caller, model, callId, { ...how, firstByteMs })
    ending.add(ended)
    void ended
      .catch(error =>
        log.error({ err: error, call: callId }, 'the end of a call of a model was not written down'),
      )
      .finally(() => ending.delete(ended))
    return ended
  }

  async function whole(running: Running, { body }: ChatAnswer): Promise<ChatReply> {
    let text: Buffer
    const firstMs = performance.now()
    try {
      text = await gather(body, ANSWER_BYTES_MAX)
    } catch (error) {
      await end(running, { status: 'failed', used: NOTHING, errorCode: 'broke_off' }, firstMs)
      throw new ApiError('model_call_failed', { cause: error })
    }
    const used = readUsage(jsonOf(text)?.usage, running.most) ?? guess(running, text.length / BYTES_PER_TOKEN)
    const costMicro = await end(running, { status: 'done', used }, firstMs)
    return { callId: running.callId, status: OK, streamed: false, body: text, costMicro }
  }

  /**
   * Passes events on as they come and reads what was used. The call ends when the stream is closed, by its end or by whoever
   * has left, also where they had not read a byte of it.
   */
  function stream(running: Running, { body }: ChatAnswer, leave: () => void): Readable {
    const { most, tellsUsage, tellsCost } = running
    const seen: Streamed = { status: 'left', used: null, pieces: 0, firstMs: null }

    /** Ends the call once, by its last event or by who has left. */
    let ended: Promise<{ used: Used; costMicro: bigint }> | null = null
    function endOnce() {
      const { status, used, pieces, firstMs } = seen
      const paid = firstMs === null ? NOTHING : (used ?? guess(running, pieces))
      ended ??= end(running, { status, used: paid, errorCode: 'broke_off' }, firstMs).then(costMicro => ({
        used: paid,
        costMicro,
      }))
      return ended
    }

    async function* events(): AsyncGenerator<Buffer> {
      const reader = createEventReader()
      let bytes = 0
      /** What is told after what it cost. */
      const last: Buffer[] = []
      try {
        for await (const piece of body) {
          seen.firstMs ??= performance.now()
          bytes += piece.length
          if (bytes > ANSWER_BYTES_MAX + most.outputTokens * BYTES_PER_TOKEN_MAX) throw new EventTooLong()
          const ready: Buffer[] = []
          for (const event of reader.read(piece)) {
            const { usage, isUsageAlone, speaks } = lookAt(event)
            if (usage !== null) seen.used = readUsage(usage, most) ?? seen.used
            if (speaks) seen.pieces += 1
            if (tellsCost && isLast(event)) last.push(event)
            else if (!isUsageAlone || tellsUsage) ready.push(event)
          }
          if (ready.length > 0) yield Buffer.concat(ready)
        }
        const rest = reader.rest()
        if (rest.length > 0) yield rest
        seen.status = 'done'
      } catch (error) {
        // Whoever has left ends it at its server, and nobody reads on.
        if (running.signal.aborted) return
        seen.status = 'failed'
        log.warn({ err: error, call: running.callId }, 'the answer of a model broke off')
        yield brokenOff
      }
      const paid = tellsCost ? await endOnce().catch(() => null) : null
      if (paid) yield costEvent(running, paid)
      yield* last
    }

    const made = Readable.from(events(), { objectMode: false })
    made.once('close', () => {
      leave()
      void endOnce().catch(() => undefined)
    })
    return made
  }

  return {
    /**
     * Asks a model.
     * @param input.text The body of `/chat/completions` as it came.
     * @param input.signal Aborts when the customer leaves.
     * @param input.tellsCost Whether a stream says at its end what it cost.
     * @throws ApiError `malformed_json`, `validation_failed`, `model_unknown`, `model_kind`, `too_many_requests`, `model_call_failed`,
     *   and as {@link CallBook.begin}.
     */
    async chat(caller: ModelCaller, input: ChatInput): Promise<ChatReply> {
      const body = parse(input.text)
      const model = modelOf(body.model)
      const answer = answerTokens(body, model)
      if (answer === null) {
        throw new ApiError('validation_failed', { fields: [{ path: 'max_tokens', rule: 'too_large' }] })
      }
      const most = mostOf(body, { bodyBytes: input.text.length, answer }, model)
      const streamed = body.stream === true
      const leave = enter(caller)
      let running: Running | null = null
      try {
        const startedMs = performance.now()
        const callId = await book.begin(caller, model, { most, streamed })
        const tellsUsage = body.stream_options?.include_usage === true
        running = {
          caller,
          model,
          callId,
          most,
          bodyBytes: input.text.length,
          tellsUsage,
          tellsCost: input.tellsCost ?? false,
          startedMs,
          signal: input.signal,
        }
        const signal = AbortSignal.any([input.signal, AbortSignal.timeout(CALL_MS_MAX)])
        const reply = await ask(deps.servers.get(model.id) ?? [], { body: sentBody(body, answer), signal })
        if (reply.status >= REFUSED) {
          const refusal = await gather(reply.body, REFUSAL_BYTES_MAX).catch(() => Buffer.alloc(0))
          await end(running, { status: 'failed', used: NOTHING, errorCode: 'refused' }, null)
          leave()
          return { callId, status: reply.status, streamed: false, body: refusal, costMicro: 0n }
        }
        if (streamed) {
          return { callId, status: OK, streamed, body: stream(running, reply, leave), costMicro: null }
        }
        const done = await whole(running, reply)
        leave()
        return done
      } catch (error) {
        leave()
        // What has ended already is not ended again.
        if (running) {
          const status = input.signal.aborted ? 'left' : 'failed'
          await end(running, { status, used: NOTHING }, null).catch(() => undefined)
        }
        throw error
      }
    },

    /** Waits until what has ended is written down. */
    async settle(): Promise<void> {
      await Promise.allSettled([...ending])
    },
  }
}

const NOTHING: Used = { inputTokens: 0, cachedTokens: 0, outputTokens: 0 }

/** What is told at the end of a stream that breaks off. */
const brokenOff = Buffer.from(
  `data: ${JSON.stringify({ error: { message: 'The model call failed. Please try again.', type: 'server_error', param: null, code: 'model_call_failed' } })}\n\n`,
)

/** The end of a stream, as OpenAI's clients know it. */
function isLast(event: Buffer): boolean {
  return event.length < LAST_BYTES_MAX && dataOf(event)?.trim() === '[DONE]'
}
const LAST_BYTES_MAX = 64

/** What a call has cost, as a chunk without choices. */
function costEvent(
  { callId, model }: Running,
  { used, costMicro }: { used: Used; costMicro: bigint },
): Buffer {
  const berth: ChatCost = {
    call_id: callId,
    cost_micro: String(costMicro),
    input_tokens: used.inputTokens,
    cached_tokens: used.cachedTokens,
    output_tokens: used.outputTokens,
  }
  const chunk = {
    id: callId,
    object: 'chat.completion.chunk',
    created: 0,
    model: model.id,
    choices: [],
    berth,
  }
  return Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`)
}

/** What was used where nobody says it: never more than was set aside. */
function guess({ bodyBytes, most }: Running, outputTokens: number): Used {
  return {
    inputTokens: Math.min(most.inputTokens, Math.ceil(bodyBytes / BYTES_PER_TOKEN)),
    cachedTokens: 0,
    outputTokens: Math.min(most.outputTokens, Math.ceil(outputTokens)),
  }
}

/** What was seen of a stream. */
interface Streamed {
  status: CallEnd['status']
  /** As the server said it. */
  used: Used | null
  /** Events that had a piece of the answer. */
  pieces: number
  firstMs: number | null
}

/** What an event says: what was used, whether that is all that it says, and whether it has a piece of the answer. */
function lookAt(event: Buffer): { usage: unknown; isUsageAlone: boolean; speaks: boolean } {
  const speaks = SPEAKS.test(event.toString('latin1'))
  // Most events are pieces of text: those are not read.
  const data = event.includes('"usage"') ? jsonOf(dataOf(event) ?? '') : null
  const usage = data?.usage ?? null
  const isUsageAlone = usage !== null && Array.isArray(data?.choices) && data.choices.length === 0
  return { usage, isUsageAlone, speaks }
}

/** A piece of text, of thinking, or of a call of a tool: the first event of most answers has an empty one. */
const SPEAKS = /"(?:content|reasoning_content|reasoning|text)": ?"(?!")|"tool_calls"/

function jsonOf(text: Buffer | string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text.toString())
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

/** More than any question has: thousands of messages, and tools whose arguments have parts of their own. */
const JSON_LIMITS = { levelsMax: 64, partsMax: 200_000 }

function parse(text: Buffer) {
  const fault = faultOf(text.toString('utf8'), JSON_LIMITS)
  if (fault?.kind === 'overdone') {
    throw new ApiError('validation_failed', { fields: [{ path: '', rule: 'too_large' }] })
  }
  if (fault) {
    throw new ApiError('duplicate_key', { fields: [{ path: fieldPath('', fault.key), rule: 'duplicate' }] })
  }
  const value = jsonOf(text)
  if (value === null) throw new ApiError('malformed_json')
  const read = chatBody.safeParse(value)
  if (read.success) return read.data
  const fields = read.error.issues.map(({ path }) => ({ path: path.join('.'), rule: 'not_allowed' }) as const)
  throw new ApiError('validation_failed', { fields })
}

/** @throws Error where there is more than that. */
async function gather(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.length
    if (bytes > bytesMax) throw new Error('the answer is too long')
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}
