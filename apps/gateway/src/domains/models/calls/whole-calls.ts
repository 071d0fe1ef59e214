import { NO_USE } from '@berth/contract/model-cost'
import type { Logger } from 'pino'
import type { ModelRequest, ModelServer } from '../../../drivers/models/port.ts'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Ids } from '../../../platform/ids.ts'
import type { Keeping } from '../kept/keeping.ts'
import { keptQuestion } from '../kept/recorder.ts'
import { createAskServers } from './ask-servers.ts'
import { gather, jsonOf, liftAsked, readAsked, requireShort } from './asked-json.ts'
import { wordsTokens } from './asked-tokens.ts'
import type { CallBook, ModelCaller } from './call-book.ts'
import type { ChatReply } from './chat.ts'
import { CALL_MS_MAX, type Desk } from './desk.ts'
import { embeddingBody, inputsOf, usageOf } from './embedding-body.ts'
import type { CallEnd } from './end-calls.ts'
import { picturesIn, readImageForm, readImages, sentImages } from './image-body.ts'
import { type Lifted, liftLongTexts } from './long-texts.ts'
import type { ServerHealth } from './server-health.ts'
import { readUsage, type Used, type UsedMost } from './used.ts'

/** Ten large pictures, or the vectors of a thousand texts. */
const ANSWER_BYTES_MAX = 67_108_864
const REFUSAL_BYTES_MAX = 65_536
const REFUSED = 400

interface WholeCallsDeps {
  health: ServerHealth
  log: Pick<Logger, 'error' | 'warn'>
  ids: Pick<Ids, 'secret'>
  book: Pick<CallBook, 'begin'>
  desk: Desk
  keeping: Pick<Keeping, 'record' | 'keep'>
  servers: ReadonlyMap<string, readonly ModelServer[]>
}

/** A question as it came. */
export interface WholeInput {
  body: Buffer
  /** As it came with it; empty where none did. */
  contentType: string
  signal: AbortSignal
}

/** What was used, and whether that is an estimate. */
type Counted = Used & { estimated?: boolean }

/** A question that is ready to be asked, and how its answer is counted. */
interface Ready {
  model: CatalogueModel
  request: Omit<ModelRequest, 'signal'>
  most: UsedMost
  /** Tokens that it is to use, about. */
  aboutTokens: number
  /** Null for what is no answer: it costs nothing, and is not passed on. */
  usedOf(answer: Buffer): Counted | null
}

function failed(cause: unknown): never {
  throw new ApiError('model_call_failed', { cause })
}

/** Calls of models that are answered at once and as a whole: pictures, vectors. */
export function createWholeCalls(deps: WholeCallsDeps) {
  const { book, desk, ids } = deps
  const askServers = createAskServers(deps)

  async function answer(caller: ModelCaller, ready: Ready, leaving: AbortSignal): Promise<ChatReply> {
    const { model, request, most } = ready
    const leave = desk.enter(caller)
    try {
      const startedMs = performance.now()
      await caller.onAsked?.(ready.aboutTokens)
      const callId = await book.begin(caller, model, { most, streamed: false }).catch(error => {
        caller.onUsed?.(0)
        throw error
      })
      const opened = { caller, model, callId, startedMs }
      // Of these the question alone: answers are pictures, or numbers that nobody reads.
      const asked = () => ({
        json: Buffer.from(JSON.stringify(request.body)),
        texts: request.texts as Lifted['texts'],
      })
      const recorder = await deps.keeping.record(caller.userId, () => keptQuestion(asked()))
      if (recorder) deps.keeping.keep(caller.userId, callId, recorder)
      let errorCode: NonNullable<CallEnd['errorCode']> = 'not_answered'
      const fail = (hasLeft: boolean) =>
        desk
          .end(opened, { status: hasLeft ? 'left' : 'failed', used: NO_USE, errorCode }, null)
          .catch(() => 0n)
      try {
        const signal = AbortSignal.any([leaving, AbortSignal.timeout(CALL_MS_MAX)])
        const reply = await askServers(deps.servers.get(model.id) ?? [], { ...request, signal })
        if (reply.status >= REFUSED) {
          const refusal = await gather(reply.body, REFUSAL_BYTES_MAX).catch(() => Buffer.alloc(0))
          errorCode = 'refused'
          await fail(false)
          return { callId, status: reply.status, streamed: false, body: refusal, costMicro: 0n }
        }
        errorCode = 'broke_off'
        const firstMs = performance.now()
        const body = await gather(reply.body, ANSWER_BYTES_MAX).catch(failed)
        const counted = ready.usedOf(body)
        if (counted === null) throw new ApiError('model_call_failed')
        const { estimated = false, ...used } = counted
        const costMicro = await desk.end(opened, { status: 'done', used, estimated }, firstMs)
        return { callId, status: 200, streamed: false, body, costMicro }
      } catch (error) {
        await fail(leaving.aborted)
        if (leaving.aborted) failed(error)
        throw error
      }
    } finally {
      leave()
    }
  }

  return {
    /**
     * Has pictures made. Those that come are paid for.
     * @param fields What is asked besides, whatever the body says of it.
     * @throws ApiError `body_too_large`, `malformed_json`, `validation_failed`, `model_unknown`, `model_kind`,
     *   `too_many_requests`, `model_call_failed`, and as {@link CallBook.begin}.
     */
    async images(
      caller: ModelCaller,
      { body: bytes, contentType, signal }: WholeInput,
      fields: Record<string, unknown> = {},
    ): Promise<ChatReply> {
      const asked = contentType.toLowerCase().startsWith('multipart/')
        ? readImageForm(bytes, contentType)
        : readImages(liftAsked(bytes, ids))
      const model = desk.model(asked.body.model, ['image'])
      const body = sentImages({ ...asked.body, ...fields }, model)
      const ready: Ready = {
        model,
        request: { path: 'images/generations', body, texts: asked.texts, picture: asked.picture(model) },
        most: { inputTokens: 0, outputTokens: 0, images: body.n },
        aboutTokens: 0,
        usedOf(answer) {
          const lifted = liftLongTexts(answer, ids)
          const came = lifted === null ? null : picturesIn(jsonOf(lifted.json))
          return came === null ? null : { ...NO_USE, images: Math.min(came, body.n) }
        },
      }
      return await answer(caller, ready, signal)
    },

    /** Has vectors made of texts. @throws ApiError As {@link images}. */
    async embeddings(caller: ModelCaller, { body: bytes, signal }: WholeInput): Promise<ChatReply> {
      requireShort(bytes.length)
      const { json, texts } = liftAsked(bytes, ids)
      const body = readAsked(json, embeddingBody)
      const model = desk.model(body.model, ['embedding'])
      const inputTokens = Math.min(bytes.length, model.context_tokens * inputsOf(body))
      const most = { inputTokens, outputTokens: 0 }
      const guessed = {
        ...NO_USE,
        inputTokens: Math.min(inputTokens, wordsTokens(body.input, texts)),
      }
      const ready: Ready = {
        model,
        request: { path: 'embeddings', body, texts },
        most,
        aboutTokens: guessed.inputTokens,
        usedOf: answer => readUsage(usageOf(answer), most) ?? { ...guessed, estimated: true },
      }
      return await answer(caller, ready, signal)
    },
  }
}
