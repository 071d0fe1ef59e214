import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { InvoicePage } from '@berth/contract/invoices'
import { CALL_TIMEOUT_MS, type Language } from '@berth/contract/limits'
import { ApiError } from '../../../../../platform/http/api-error.ts'

/** How much is made at a time. */
interface PdfLimits {
  /** Two leave the gateway's own thread its processor. */
  atOnceMax: number
  /** The others wait, and who would wait too long is told. */
  waitingMax: number
  /** One takes a second of a processor; that many is a computer that does much else, and whoever saves a file still waits. */
  makeMsMax: number
}
const LIMITS: PdfLimits = { atOnceMax: 2, waitingMax: 20, makeMsMax: CALL_TIMEOUT_MS.download }

const HEAP_MB_MAX = 192

/** A folder of its own, which the build knows: in the built gateway a module's URL is another file's. */
const SCRIPT = join(import.meta.dirname, 'pdf-worker.ts')

/** What the thread is given, and what it answers. */
export interface PdfOrder {
  page: InvoicePage
  language: Language
}
export type PdfAnswer = { bytes: Uint8Array } | { failed: string }

/**
 * Makes PDFs, each in a thread of its own that ends with it: bounded in number, time and memory.
 * @param limits Other than usual for tests.
 */
export function createPdfMaker({ atOnceMax, waitingMax, makeMsMax } = LIMITS) {
  let running = 0
  const waiting: (() => void)[] = []

  async function takeTurn(): Promise<void> {
    if (running < atOnceMax) {
      running += 1
      return
    }
    if (waiting.length >= waitingMax) throw new ApiError('unavailable')
    // Whoever gives a turn back hands it on.
    await new Promise<void>(resolve => waiting.push(resolve))
  }
  function giveTurn(): void {
    const next = waiting.shift()
    if (next) next()
    else running -= 1
  }

  return {
    /** @throws ApiError `unavailable` when too many are asked for at once, or it takes too long. */
    async make(page: InvoicePage, language: Language): Promise<Buffer> {
      await takeTurn()
      try {
        return await inThread({ page, language }, makeMsMax)
      } finally {
        giveTurn()
      }
    },
  }
}

async function inThread(order: PdfOrder, makeMsMax: number): Promise<Buffer> {
  const worker = new Worker(SCRIPT, {
    workerData: order,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
  })
  let patience: NodeJS.Timeout | undefined
  try {
    const answer = await new Promise<PdfAnswer>((resolve, reject) => {
      patience = setTimeout(() => reject(new ApiError('unavailable')), makeMsMax)
      worker.once('message', resolve)
      worker.once('error', reject)
      worker.once('exit', code => reject(new Error(`the thread of a PDF ended with ${code}`)))
    })
    if ('failed' in answer) throw new Error(`a PDF could not be made: ${answer.failed}`)
    return Buffer.from(answer.bytes)
  } finally {
    clearTimeout(patience)
    await worker.terminate()
  }
}
