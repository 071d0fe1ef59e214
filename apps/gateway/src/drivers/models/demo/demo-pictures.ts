import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { createAtOnce } from '../../../platform/at-once.ts'
import { ModelServerFailed } from '../port.ts'

/** One leaves the gateway's own thread a processor; the others wait. */
const AT_ONCE_MAX = 1
const WAITING_MAX = 50
/** One takes a few hundred milliseconds; this is a machine that has little time. */
const MAKE_MS_MAX = 20_000
const HEAP_MB_MAX = 256

/** A folder of its own, which the build knows: in the built gateway a module's URL is another file's. */
const SCRIPT = join(import.meta.dirname, 'picture-worker.ts')

/** What is drawn: the same for the same. */
export interface PictureOrder {
  prompt: string
  seed: number
  /** Which of several. */
  number: number
  width: number
  height: number
  /** Named in the file. */
  model: string
}
export type PictureAnswer = { bytes: Uint8Array } | { failed: string }

/** Draws pictures, each in a thread of its own that ends with it: bounded in number, time and memory. */
export function createDemoPictures(makeMsMax = MAKE_MS_MAX) {
  const inTurn = createAtOnce(AT_ONCE_MAX, {
    waitingMax: WAITING_MAX,
    refuse() {
      throw new ModelServerFailed('demo', new Error('too many pictures are being made'))
    },
  })
  return {
    /** @returns A PNG file. @throws ModelServerFailed where too many are asked for at once, or it takes too long. */
    make: (order: PictureOrder): Promise<Buffer> => inTurn(() => inThread(order, makeMsMax)),
  }
}
export type DemoPictures = ReturnType<typeof createDemoPictures>

async function inThread(order: PictureOrder, makeMsMax: number): Promise<Buffer> {
  const worker = new Worker(SCRIPT, {
    workerData: order,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
  })
  let patience: NodeJS.Timeout | undefined
  try {
    const answer = await new Promise<PictureAnswer>((resolve, reject) => {
      patience = setTimeout(() => reject(new Error('it takes too long')), makeMsMax)
      worker.once('message', resolve)
      worker.once('error', reject)
      worker.once('exit', code => reject(new Error(`the thread ended with ${code}`)))
    })
    if ('failed' in answer) throw new Error(answer.failed)
    return Buffer.from(answer.bytes)
  } catch (error) {
    throw new ModelServerFailed('demo', error)
  } finally {
    clearTimeout(patience)
    await worker.terminate()
  }
}
