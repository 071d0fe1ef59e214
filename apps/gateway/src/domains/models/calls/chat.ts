import { Readable } from 'node:stream'
import { NO_USE } from '@berth/contract/model-cost'
import { CHAT_KINDS, type ChatCost } from '@berth/contract/models'
import type { Logger } from 'pino'
import type { ModelAnswer, ModelServer } from '../../../drivers/models/port.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Ids } from '../../../platform/ids.ts'
import type { Keeping } from '../kept/keeping.ts'
import { keptQuestion, type Recorder } from '../kept/recorder.ts'
import { createAskServers } from './ask-servers.ts'
import { fieldError, gather, jsonOf, liftAsked, readAsked, requireShort } from './asked-json.ts'
import { askedTokens, wordsTokens } from './asked-tokens.ts'
import type { CallBook, ModelCaller } from './call-book.ts'
import { answerTokens, mostOf, sentBody, WORDS_BODIES, type WordsPath } from './chat-body.ts'
import { CALL_MS_MAX, type Desk, type Opened } from './desk.ts'
import type { CallEnd } from './end-calls.ts'
import { createEventReader, dataOf, EventTooLong } from './event-reader.ts'
import { checkPictures } from './pictures-asked.ts'
import type { ServerHealth } from './server-health.ts'
import { readUsage, type Used, type UsedMost } from './used.ts'

/** An answer that is not streamed, and a refusal, are kept in memory up to so much. */
const ANSWER_BYTES_MAX = 16_777_216
const REFUSAL_BYTES_MAX = 65_536
/** A streamed token with all around it is never so long on average. */
const BYTES_PER_TOKEN_MAX = 4_096
const OK = 200
const REFUSED = 400

export interface ChatDeps {
  health: ServerHealth
  log: Pick<Logger, 'error' | 'warn'>
  ids: Pick<Ids, 'secret'>
  book: Pick<CallBook, 'begin'>
  desk: Desk
  keeping: Pick<Keeping, 'record' | 'keep'>
  servers: ReadonlyMap<string, readonly ModelServer[]>
}

/** A question as it came. */
export interface ChatInput {
  text: Buffer
  /** What it is asked by; left out: as a chat. */
  path?: WordsPath
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
interface Running extends Opened {
  most: UsedMost
  /** Tokens of what was asked, about: so it is counted where nobody says more. */
  aboutTokens: number
  /** Whether the customer asked to be told at the end of a stream what was used, and whether to be told what it cost. */
  tellsUsage: boolean
  tellsCost: boolean
  /** Aborts when the customer leaves. */
  signal: AbortSignal
  /** Writes it along, where that is kept. */
  recorder: Recorder | null
}

/** Chats with hosted models (B10). */
export function createChat(deps: ChatDeps) {
  const { log, book, ids, desk } = deps
  const { enter } = desk
  /** Ends a call, and keeps it once where it is kept. */
  const end: (running: Running, ...how: Tail<Parameters<Desk['end']>>) => Promise<bigint> = (
    running,
    ...how
  ) => {
    const { recorder, caller, callId } = running
    running.recorder = null
    const ended = desk.end(running, ...how)
    if (recorder)
      void ended.then(
        () => deps.keeping.keep(caller.userId, callId, recorder),
        () => undefined,
      )
    return ended
  }
  const ask = createAskServers(deps)
  async function whole(running: Running, { body }: ModelAnswer): Promise<ChatReply> {
    let text: Buffer
    const firstMs = performance.now()
    try {
      text = await gather(body, ANSWER_BYTES_MAX)
    } catch (error) {
      await end(running, { status: 'failed', used: NOTHING, errorCode: 'broke_off' }, firstMs)
      throw new ApiError('model_call_failed', { cause: error })
    }
    const answer = jsonOf(text)
    running.recorder?.whole(answer)
    const said = readUsage(answer?.usage, running.most)
    const used = said ?? guess(running, null, wordsTokens(answer?.choices))
    const costMicro = await end(running, { status: 'done', used, estimated: said === null }, firstMs)
    return { callId: running.callId, status: OK, streamed: false, body: text, costMicro }
  }

  /**
   * Passes events on as they come and reads what was used. The call ends when the stream is closed, by its end or by whoever
   * has left, also where they had not read a byte of it.
   */
  function stream(running: Running, { body }: ModelAnswer, leave: () => void): Readable {
    const { most, tellsUsage, tellsCost, recorder } = running
    const seen: Streamed = { status: 'left', used: null, pieces: 0, firstMs: null }

    /** Ends the call once, by its last event or by who has left. */
    let ended: Promise<{ used: Used; costMicro: bigint }> | null = null
    function endOnce() {
      const { status, used, pieces, firstMs } = seen
      // What a server says before the end is of the beginning: the rest of the answer is counted.
      const isSaid = status === 'done' && used !== null
      const paid = firstMs === null ? NOTHING : isSaid ? used : guess(running, used, pieces)
      const estimated = firstMs !== null && !isSaid
      ended ??= end(running, { status, used: paid, errorCode: 'broke_off', estimated }, firstMs).then(
        costMicro => ({
          used: paid,
          costMicro,
        }),
      )
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
            if (speaks) recorder?.event(event)
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
     * @param input.text The body as it came.
     * @param input.signal Aborts when the customer leaves.
     * @param input.tellsCost Whether a stream says at its end what it cost.
     * @throws ApiError `body_too_large`, `malformed_json`, `validation_failed`, `model_unknown`, `model_kind`, `too_many_requests`,
     *   `model_call_failed`, and as {@link CallBook.begin}.
     */
    async chat(caller: ModelCaller, input: ChatInput): Promise<ChatReply> {
      const lifted = liftAsked(input.text, ids)
      const { json, texts } = lifted
      const path = input.path ?? 'chat/completions'
      const body = readAsked(json, WORDS_BODIES[path])
      const model = desk.model(body.model, CHAT_KINDS)
      const pictures = checkPictures(body.messages ?? [], model.image_input, texts)
      const wordBytes = input.text.length - pictures.bytes
      requireShort(wordBytes)
      const answer = answerTokens(body, model)
      if (answer === null) throw fieldError('max_tokens', 'too_large')
      const most = mostOf(body, { bodyBytes: wordBytes + pictures.tokens.most, answer }, model)
      const streamed = body.stream === true
      const leave = enter(caller)
      let running: Running | null = null
      try {
        const startedMs = performance.now()
        const aboutTokens = askedTokens(body, texts) + pictures.tokens.about
        await caller.onAsked?.(Math.min(aboutTokens, most.inputTokens) + most.outputTokens)
        const recorder = await deps.keeping.record(caller.userId, () => keptQuestion(lifted))
        const callId = await book.begin(caller, model, { most, streamed })
        const tellsUsage = body.stream_options?.include_usage === true
        running = {
          caller,
          model,
          callId,
          most,
          aboutTokens,
          tellsUsage,
          tellsCost: input.tellsCost ?? false,
          startedMs,
          signal: input.signal,
          recorder,
        }
        const signal = AbortSignal.any([input.signal, AbortSignal.timeout(CALL_MS_MAX)])
        const reply = await ask(deps.servers.get(model.id) ?? [], {
          path,
          body: sentBody(body, answer),
          texts,
          signal,
        })
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
        if (!running) caller.onUsed?.(0)
        else {
          const status = input.signal.aborted ? 'left' : 'failed'
          await end(running, { status, used: NOTHING }, null).catch(() => undefined)
        }
        // Nobody hears it: whoever asked has left.
        if (input.signal.aborted) throw new ApiError('model_call_failed', { cause: error })
        throw error
      }
    },
  }
}

type Tail<All extends unknown[]> = All extends [unknown, ...infer Rest] ? Rest : never

const NOTHING: Used = NO_USE

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

/** What was used where nobody says all of it: never more than was set aside. */
function guess({ aboutTokens, most }: Running, said: Used | null, outputTokens: number): Used {
  return {
    ...NO_USE,
    ...(said ?? { inputTokens: Math.min(most.inputTokens, aboutTokens) }),
    outputTokens: Math.min(most.outputTokens, Math.max(said?.outputTokens ?? 0, Math.ceil(outputTokens))),
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

/** A piece of text, of thinking, or of a call of a tool or a function: the first event of most answers has an empty one. */
const SPEAKS =
  /"(?:content|reasoning_content|reasoning|refusal|text)": ?"(?!")|"tool_calls": ?\[ ?(?!\])|"function_call": ?\{/
