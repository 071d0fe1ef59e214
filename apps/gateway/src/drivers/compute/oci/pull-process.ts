/**
 * Fetches one image in a process of its own, so that neither what a registry sends nor adding up its digests holds up
 * the gateway: `pull-process.ts <uppermost folder> <folder> <reference>`. It reads its orders, a JSON value on one line
 * of its input. It writes a JSON value a line: progress, then `{"failed": …}` where that is how it ended. It ends with
 * whoever started it.
 */
import { createInterface } from 'node:readline'
import { OciFailure } from './oci-failure.ts'
import { pullImage } from './pull-image.ts'
import { type PullOrders, pullOrdersSchema } from './pull-orders.ts'
import { parseJson } from './registry-client.ts'

/** How often progress is told at most. */
const TELL_MS = 200

const [openDir = '', dir = '', reference = ''] = process.argv.slice(2)
let toldAt = 0
const tell = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`)

const { promise: orders, resolve: take } = Promise.withResolvers<PullOrders>()
createInterface({ input: process.stdin }).on('line', line =>
  take(pullOrdersSchema.parse(parseJson(Buffer.from(line)))),
)
process.stdin.on('end', () => process.exit(1))

try {
  const { terms, roomBytes } = await orders
  await pullImage(dir, reference, {
    terms,
    openDir,
    roomBytes,
    onProgress: progress => {
      const isEnd = progress.bytes_done === progress.bytes_total
      if (!isEnd && Date.now() - toldAt < TELL_MS) return
      toldAt = Date.now()
      tell(progress)
    },
  })
} catch (error) {
  const code = error instanceof OciFailure ? error.code : 'failed'
  tell({ failed: { code, message: error instanceof Error ? error.message : String(error) } })
}
process.stdin.destroy()
