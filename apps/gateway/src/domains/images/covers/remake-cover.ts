import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { coverTypeOf } from '@berth/contract/covers'
import type { FieldRule } from '@berth/contract/errors'
import type { Logger } from 'pino'
import { ApiError } from '../../../platform/http/api-error.ts'
import { KEPT_BYTES_MAX, remadeLine } from './remade.ts'

const SCRIPT = join(import.meta.dirname, 'cover-process.ts')
/** A second is usual; what takes longer was made to. */
const CPU_SECONDS_MAX = 15
/** A computer that does much else gives those within that. */
const REMAKE_MS_MAX = 45_000
/** Of memory: Node takes 60 MB and reserves 550 more that it does not use, and an AVIF of the most pixels takes 500. */
export const DATA_KB_MAX = 1_150_000
const LINE_BYTES_MAX = 100
const NEWLINE = 0x0a

/** Bounds that the system holds, whatever a decoder is brought to do; it may write no file at all. */
const BOUNDS = `ulimit -c 0; ulimit -f 0; ulimit -t ${CPU_SECONDS_MAX}; ulimit -d ${DATA_KB_MAX}; exec "$0" "$@"`

/** A picture as it is kept. */
export interface RemadeCover {
  webp: Buffer
  width: number
  height: number
}

/** What is wrong with a picture, where it is named in a form. */
export const coverFault = (rule: FieldRule): ApiError =>
  new ApiError('validation_failed', { fields: [{ path: 'cover', rule }] })

/**
 * Draws a customer's picture anew in a process of its own, which has nothing of ours but the picture: what a decoder does
 * with it, it does there, within bounds of memory and time.
 * @param sent The file as it came.
 * @param signal Ends it.
 * @throws ApiError `validation_failed` {cover_type, cover_pixels, cover_too_small, cover_broken}: the last also where that
 *   process was ended or crashed; `unavailable` where it does not start.
 */
export async function remakeCover(
  sent: Buffer,
  log: Pick<Logger, 'warn'>,
  signal: AbortSignal,
): Promise<RemadeCover> {
  if (coverTypeOf(sent) === null) throw coverFault('cover_type')
  const flags = ['--disable-warning=ExperimentalWarning', '--max-old-space-size=64']
  const child = spawn('/bin/sh', ['-c', BOUNDS, process.execPath, ...flags, SCRIPT], {
    cwd: '/',
    // Fewer threads want less memory.
    env: { UV_THREADPOOL_SIZE: '1', MALLOC_ARENA_MAX: '1', NODE_OPTIONS: '' },
    stdio: ['pipe', 'pipe', 'ignore'],
    killSignal: 'SIGKILL',
    timeout: REMAKE_MS_MAX,
    signal,
  })
  // It may end before it has read all.
  child.stdin.on('error', () => undefined)
  child.stdin.end(sent)
  const parts: Buffer[] = []
  let length = 0
  child.stdout.on('data', (part: Buffer) => {
    length += part.length
    if (length > LINE_BYTES_MAX + KEPT_BYTES_MAX) child.kill('SIGKILL')
    else parts.push(part)
  })
  const [code, killedBy] = await once(child, 'close').catch(cause => {
    throw new ApiError('unavailable', { cause })
  })
  const made = code === 0 ? read(Buffer.concat(parts)) : null
  if (made) return made
  log.warn({ code, killedBy, bytes: sent.length }, 'the process that draws a cover ended early')
  throw coverFault('cover_broken')
}

/** What it wrote; null where that makes no sense. @throws ApiError `validation_failed` where it says what is wrong. */
function read(written: Buffer): RemadeCover | null {
  const end = written.indexOf(NEWLINE)
  const line = written.subarray(0, Math.max(0, end)).toString()
  const remade = end < 0 ? null : remadeLine.safeParse(JSON.parse(line)).data
  if (!remade) return null
  if ('refused' in remade) throw coverFault(remade.refused)
  const webp = written.subarray(end + 1)
  return coverTypeOf(webp) === 'image/webp' ? { ...remade, webp } : null
}
