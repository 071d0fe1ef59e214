import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { QUICK_IMPORTS } from '../../../platform/quick-imports.ts'
import { ComputeError, type ComputeErrorCode } from '../port/compute-error.ts'
import type { PullProgress } from '../port/images.ts'

/** Of the process that fetches; what it fetches is never held in whole. */
const HEAP_MB_MAX = 256
const ERROR_CHARS_MAX = 500

const progressLine = z.object({ bytes_done: z.number(), bytes_total: z.number() })
/** The process is ours: its words are taken for what they are. */
const failureLine = z.object({
  failed: z.object({
    code: z.custom<ComputeErrorCode>(value => typeof value === 'string'),
    message: z.string(),
  }),
})

/** What is fetched, by a script that `serveFetch` runs. */
export interface OutsideFetch {
  /** For messages. */
  name: string
  /** The script, with its arguments. */
  script: readonly [string, ...string[]]
  /** What it is told on its input: nobody else on this computer can read that. */
  orders: unknown
  /** A file: whoever else fetches the same waits for it. */
  lock: string
}

/**
 * Lets a process fetch something while it holds the lock of it, which other gateways wait for.
 * @throws ComputeError as the process says, else `failed`.
 */
export async function fetchOutside(
  { name, script, orders, lock }: OutsideFetch,
  onProgress: (progress: PullProgress) => void,
  signal: AbortSignal,
): Promise<void> {
  const node = [
    process.execPath,
    `--max-old-space-size=${HEAP_MB_MAX}`,
    '--disable-warning=ExperimentalWarning',
  ]
  const child = spawn('flock', ['--no-fork', lock, ...node, ...script], {
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', ...QUICK_IMPORTS },
    stdio: ['pipe', 'pipe', 'pipe'],
    killSignal: 'SIGKILL',
    signal,
  })
  let failure: z.infer<typeof failureLine>['failed'] | null = null
  let said = ''
  child.stderr.on('data', chunk => {
    said = `${said}${chunk}`.slice(-ERROR_CHARS_MAX)
  })
  child.stdin.on('error', () => undefined)
  // Its end would be the end of that process.
  child.stdin.write(`${JSON.stringify(orders)}\n`)
  createInterface({ input: child.stdout }).on('line', line => {
    const value = JSON.parse(line) as unknown
    const progress = progressLine.safeParse(value).data
    if (progress) onProgress(progress)
    failure = failureLine.safeParse(value).data?.failed ?? failure
  })
  const [code] = await once(child, 'close').catch(cause => {
    throw new ComputeError('failed', `fetching ${name} ended early: ${cause.message}`, { cause })
  })
  if (failure) throw asComputeError(name, failure)
  if (code !== 0) throw new ComputeError('failed', `fetching ${name} failed: ${said.trim()}`)
}

function asComputeError(
  name: string,
  { code, message }: z.infer<typeof failureLine>['failed'],
): ComputeError {
  return new ComputeError(code, `${name}: ${message}`.slice(0, ERROR_CHARS_MAX))
}
