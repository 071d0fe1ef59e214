/**
 * Fetches one image in a process of its own, so that neither what a registry sends nor adding up its digests holds up
 * the gateway: `pull-process.ts <folder> <reference>`. It writes a JSON value a line: progress, then `{"failed": …}`
 * where that is how it ended. It ends with whoever started it.
 */
import { removeUnused } from './image-files.ts'
import { OciFailure } from './oci-failure.ts'
import { pullImage } from './pull-image.ts'

/** How often progress is told at most. */
const TELL_MS = 200

const [dir = '', reference = ''] = process.argv.slice(2)
process.stdin.on('end', () => process.exit(1)).resume()

let toldAt = 0
const tell = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`)

try {
  await pullImage(dir, reference, {
    onProgress: progress => {
      const isEnd = progress.bytes_done === progress.bytes_total
      if (!isEnd && Date.now() - toldAt < TELL_MS) return
      toldAt = Date.now()
      tell(progress)
    },
  })
  await removeUnused(dir, Date.now())
} catch (error) {
  const passes = !(error instanceof OciFailure) || error.passes
  const no_room = /ENOSPC|EDQUOT/.test(String(error))
  tell({ failed: { message: error instanceof Error ? error.message : String(error), passes, no_room } })
}
process.stdin.destroy()
