import { ComputeError } from '../port/compute-error.ts'
import type { PtyEvents, PtyProcess, Size } from '../sessions/session.ts'
import { killGroup, openProcess, type PodPlace, type PodProcess } from './kube-exec.ts'
import type { KubeLink } from './kube-link.ts'

/** Sets so many variables as its first argument says: the API gives a process none of its own. */
export const TAKE_ENV = 'n=$1; shift; while [ "$n" -gt 0 ]; do export "$1"; shift; n=$((n-1)); done; '

/**
 * Tells the shell's process id in front of all output, in a form that no terminal would show, and becomes the best shell that
 * the image has. A terminal gets its size by a word that may come after its program has asked, so it is set in here, too.
 */
const SHELL_SCRIPT = `${TAKE_ENV}stty rows "$1" cols "$2" 2>/dev/null; shift 2; printf "\\033]berth;%s\\007" $$; cd ~ 2>/dev/null; if [ -x /bin/bash ]; then exec /bin/bash "$@"; else exec /bin/sh "$@"; fi`
const PID_PREFIX = '\x1b]berth;'
const PID_END = '\x07'
const PID_BYTES_MAX = 64
const SHELL_START_TIMEOUT_MS = 15_000
/** A shell that was hung up may say goodbye for this long; one that ignores it is killed. */
const HANG_UP_MS = 5_000

/**
 * Opens a shell on a terminal in a machine, with what it is to do; none to talk.
 * @throws As `KubeLink.socket` does, and ComputeError `failed` where no shell comes up.
 */
export async function openKubeShell(
  link: KubeLink,
  place: PodPlace,
  options: Size & { env: Record<string, string> },
  events: PtyEvents,
  args: string[] = [],
): Promise<PtyProcess> {
  const env = { TERM: 'xterm-256color', PS1: '\\u@\\h:\\w\\$ ', ...options.env }
  const { cols, rows } = options
  const command = [
    '/bin/sh',
    '-c',
    SHELL_SCRIPT,
    'berth',
    ...envWords(env),
    String(rows),
    String(cols),
    ...args,
  ]
  const started = Promise.withResolvers<number>()
  const early: Buffer[] = []
  let head: Buffer | null = Buffer.alloc(0)
  let isHeld = true
  let ended: { code: number | null } | null = null
  const emit = (chunk: Buffer) => (isHeld ? early.push(chunk) : events.onData(chunk))
  const process: PodProcess = await openProcess(
    link,
    place,
    { command, tty: true, stdin: true },
    {
      onStdout: chunk => {
        if (head === null) return void emit(chunk)
        head = Buffer.concat([head, chunk])
        const end = head.indexOf(PID_END)
        if (end < 0 && head.length < PID_BYTES_MAX) return
        const pid =
          head.indexOf(PID_PREFIX) === 0 ? Number(head.toString('latin1', PID_PREFIX.length, end)) : 0
        if (!(pid > 0)) return started.reject(notUp(head.toString()))
        const rest = head.subarray(end + 1)
        head = null
        if (rest.length > 0) emit(rest)
        started.resolve(pid)
      },
      onStderr: () => undefined,
      onDrain: events.onDrain,
      onEnd: end => {
        ended = end
        started.reject(notUp(`${head?.toString() ?? ''}${end.said}`))
        if (!isHeld) events.onEnd(end.code)
      },
    },
  )
  process.resume()
  const timer = setTimeout(() => started.reject(notUp('')), SHELL_START_TIMEOUT_MS)
  const pid = await started.promise
    .catch(error => {
      process.close()
      throw error
    })
    .finally(() => clearTimeout(timer))
  process.resize(cols, rows)
  // Whoever opened it has to have it before it hears of it.
  setImmediate(() => {
    isHeld = false
    for (const chunk of early) events.onData(chunk)
    if (ended) events.onEnd(ended.code)
  })

  return {
    write: process.write,
    resize: process.resize,
    pause: process.pause,
    resume: process.resume,
    hangUp: () => {
      killGroup(link, place, pid, 'HUP').catch(process.close)
      process.resume()
      // Nobody counts it any more: whatever runs there must not go on sending.
      setTimeout(() => {
        if (ended) return
        killGroup(link, place, pid)
          .catch(() => undefined)
          .finally(process.close)
      }, HANG_UP_MS).unref()
    },
  }
}

/** A number of variables, and then each of them, as `TAKE_ENV` reads them. */
export function envWords(env: Record<string, string>): string[] {
  const words = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  return [String(words.length), ...words]
}

const notUp = (said: string) => new ComputeError('failed', `no shell came up: ${said.slice(0, 300)}`)
