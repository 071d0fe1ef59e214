import { createInterface } from 'node:readline'
import { NotForImages } from './layer-entries.ts'
import { OciFailure } from './oci-failure.ts'
import { parseJson } from './registry-client.ts'

/** How often progress is told at most. */
const TELL_MS = 200

interface Progress {
  bytes_done: number
  bytes_total: number
}

/**
 * Is a process that fetches, for `fetchOutside`: reads its orders, a JSON value on one line of its input; writes a JSON
 * value a line: progress, then `{"failed": …}` where that is how it ended. It ends with whoever started it.
 * @param read Checks the orders.
 */
export async function serveFetch<Orders>(
  read: (value: unknown) => Orders,
  work: (orders: Orders, onProgress: (progress: Progress) => void) => Promise<unknown>,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<Orders>()
  createInterface({ input: process.stdin }).on('line', line => resolve(read(parseJson(Buffer.from(line)))))
  process.stdin.on('end', () => process.exit(1))
  let toldAt = 0
  const tell = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`)
  try {
    await work(await promise, progress => {
      const isEnd = progress.bytes_done === progress.bytes_total
      if (!isEnd && Date.now() - toldAt < TELL_MS) return
      toldAt = Date.now()
      tell(progress)
    })
  } catch (error) {
    const code =
      error instanceof OciFailure ? error.code : error instanceof NotForImages ? 'unsupported' : 'failed'
    tell({ failed: { code, message: error instanceof Error ? error.message : String(error) } })
  }
  process.stdin.destroy()
}
