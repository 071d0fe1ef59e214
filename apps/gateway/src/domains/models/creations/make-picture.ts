import { CREATION_IMAGE_BYTES_MAX } from '@berth/contract/limits'
import type { Logger } from 'pino'
import type { ModelPicture, ModelRequest, ModelServer } from '../../../drivers/models/port.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { Ids } from '../../../platform/ids.ts'
import { createAskServers } from '../calls/ask-servers.ts'
import { gather, jsonOf } from '../calls/asked-json.ts'
import { liftLongTexts } from '../calls/long-texts.ts'
import type { ServerHealth } from '../calls/server-health.ts'
import { readRefusal } from '../v1/upstream-refusal.ts'
import { pictureTypeOf } from './file-types.ts'
import { type Item, NotMade, type Run } from './items.ts'
import { type ComeFile, FileTooLarge, type KeptFiles } from './kept-files.ts'

/** In base64, and words beside it. */
const ANSWER_BYTES_MAX = Math.ceil((CREATION_IMAGE_BYTES_MAX * 4) / 3) + 65_536
const REFUSAL_BYTES_MAX = 65_536
const REFUSED = 400

interface PictureDeps {
  log: Pick<Logger, 'warn'>
  ids: Pick<Ids, 'secret'>
  health: ServerHealth
  servers: ReadonlyMap<string, readonly ModelServer[]>
  files: Pick<KeptFiles, 'take'>
}

/** Has single pictures made for their run. */
export function createPictureMaker(deps: PictureDeps) {
  const { ids, servers, files } = deps
  const askServers = createAskServers(deps)

  async function ask(modelId: string, request: ModelRequest): Promise<Buffer> {
    const answer = await askServers(servers.get(modelId) ?? [], request).catch((error: unknown) => {
      if (!(error instanceof ApiError)) throw error
      throw new NotMade(error.code === 'too_many_requests' ? 'model_busy' : 'model_call_failed', {
        cause: error,
      })
    })
    if (answer.status < REFUSED) return await gather(limited(answer.body, ANSWER_BYTES_MAX), ANSWER_BYTES_MAX)
    const said = await gather(answer.body, REFUSAL_BYTES_MAX).catch(() => Buffer.alloc(0))
    const reason = readRefusal(said)?.error.message
    throw reason === undefined ? new NotMade('model_call_failed') : new NotMade('model_refused', { reason })
  }

  return {
    /**
     * Has a picture made, and keeps its bytes; they belong to nothing yet.
     * @param picture What it is made after.
     * @throws NotMade; what the signal aborts with.
     */
    async make(
      { modelId, seed }: Pick<Item, 'modelId' | 'seed'>,
      run: Pick<Run, 'prompt' | 'negativePrompt' | 'size'>,
      picture: ModelPicture | null,
      signal: AbortSignal,
    ): Promise<ComeFile> {
      const { prompt, negativePrompt, size } = run
      const body = {
        ...{ model: modelId, prompt, n: 1, size, seed, response_format: 'b64_json' },
        ...(negativePrompt !== '' && { negative_prompt: negativePrompt }),
      }
      const answer = await ask(modelId, {
        ...{ path: 'images/generations', body, texts: new Map(), picture, signal },
      }).catch((error: unknown) => {
        signal.throwIfAborted()
        if (error instanceof NotMade) throw error
        if (error instanceof FileTooLarge) throw new NotMade('model_answer_too_large')
        throw new NotMade('model_call_failed', { cause: error })
      })
      const bytes = pictureIn(answer, ids)
      if (bytes === null || pictureTypeOf(bytes) === null) throw new NotMade('model_answer_wrong')
      if (bytes.length > CREATION_IMAGE_BYTES_MAX) throw new NotMade('model_answer_too_large')
      return await files.take([bytes], {
        bytesMax: CREATION_IMAGE_BYTES_MAX,
        typeOf: head => pictureTypeOf(head) ?? '',
      })
    },
  }
}

/** The bytes of the first picture of an answer; null where there are none. An address is none: nobody here opens it. */
function pictureIn(answer: Buffer, ids: Pick<Ids, 'secret'>): Buffer | null {
  const lifted = liftLongTexts(answer, ids)
  const data = lifted && jsonOf(lifted.json)?.data
  const [first] = Array.isArray(data) ? (data as unknown[]) : []
  const { b64_json: text } = (first ?? {}) as { b64_json?: unknown }
  if (typeof text !== 'string' || text === '') return null
  const long = lifted?.texts.get(text)
  return Buffer.from(long ? long.toString('latin1', 1, long.length - 1) : text, 'base64')
}

/** The same, up to where it is too long. @throws FileTooLarge */
async function* limited(body: AsyncIterable<Uint8Array>, bytesMax: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.length
    if (bytes > bytesMax) throw new FileTooLarge()
    yield piece
  }
}
