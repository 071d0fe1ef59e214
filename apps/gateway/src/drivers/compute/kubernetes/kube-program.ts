import { type Duplex, duplexPair } from 'node:stream'
import { asFailure, readAnswer } from '../port/answers.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { RunOptions } from '../port/console.ts'
import { type Program, type ProgramEvents, serveProgram } from '../sessions/serve-program.ts'
import { terminalSide } from '../sessions/session-limits.ts'
import { createEndMark } from './end-mark.ts'
import { headLine, killGroup, openProcess, type PodPlace } from './kube-exec.ts'
import type { KubeLink } from './kube-link.ts'
import { envWords, openKubeShell, TAKE_ENV } from './kube-shell.ts'

/**
 * Tells its own id in the first line, runs the best shell that the image has, with what it is to do, and says how that ended.
 * A signal to its group is for the shell: it itself only waits.
 */
const PIPES_SCRIPT = `mark=$1; shift; ${TAKE_ENV}trap : HUP INT QUIT TERM USR1 USR2; echo $$; cd ~ 2>/dev/null; [ -x /bin/bash ] && SHELL=/bin/bash || SHELL=/bin/sh; export SHELL; $SHELL "$@"; code=$?; printf '\\000%s %s\\n' $mark $code >&2; exit $code`
/** What a program wrote last may come behind the word of its end; whoever it left behind is not waited for. */
const SILENCE_MS = 200
const START_TIMEOUT_MS = 20_000
/** Errors that came before the first line of the output: the two are passed on in any order. */
const EARLY_ERRORS_BYTES_MAX = 1024 ** 2
const SIGNALS: ReadonlySet<string> = new Set(['HUP', 'INT', 'QUIT', 'TERM', 'KILL', 'USR1', 'USR2'])

/**
 * Runs a program in a machine, with streams of its own.
 * @returns Its line, as the port says.
 * @throws ComputeError, and as `KubeLink.socket` does.
 */
export async function runProgram(link: KubeLink, place: PodPlace, options: RunOptions): Promise<Duplex> {
  const { command, env = {}, pty = null } = options
  const args = command === null ? [] : ['-c', command]
  const [near, far] = duplexPair()
  let failed: unknown = null
  void serveProgram(
    far,
    events =>
      pty
        ? onTerminal(link, place, { ...pty, args, env }, events)
        : onPipes(link, place, { args, env }, events),
    error => {
      failed = error
      return asFailure(error)
    },
  )
  try {
    await readAnswer(near, START_TIMEOUT_MS)
    return near
  } catch (error) {
    near.destroy()
    throw failed ?? error
  }
}

async function onTerminal(
  link: KubeLink,
  place: PodPlace,
  options: { cols: number; rows: number; args: string[]; env: Record<string, string> },
  events: ProgramEvents,
): Promise<Program> {
  const { cols, rows, args, env } = options
  const size = { cols: terminalSide(cols), rows: terminalSide(rows) }
  const onEnd = (code: number | null) => events.onEnd({ code, signal: null })
  const shell = await openKubeShell(
    link,
    place,
    { ...size, env },
    { onData: events.onData, onDrain: events.onDrain, onEnd },
    args,
  )
  // A terminal's input never ends, and its keys are its signals.
  return { ...shell, end: () => undefined, signal: () => undefined }
}

async function onPipes(
  link: KubeLink,
  place: PodPlace,
  { args, env }: { args: string[]; env: Record<string, string> },
  events: ProgramEvents,
): Promise<Program> {
  const started = Promise.withResolvers<void>()
  const mark = createEndMark()
  const early: Buffer[] = []
  let earlyBytes = 0
  let pid = 0
  let code: number | null = null
  let silence: NodeJS.Timeout | null = null
  let hasEnded = false
  let isPaused = false

  const stir = () => {
    if (silence) clearTimeout(silence)
    // What nobody reads is not over.
    if (code === null || isPaused) return
    silence = setTimeout(() => process.close(), SILENCE_MS)
  }
  const onErrors = (chunk: Buffer) => {
    if (chunk.length === 0) return
    if (pid > 0) return events.onStderr(chunk)
    earlyBytes += chunk.length
    if (earlyBytes > EARLY_ERRORS_BYTES_MAX) return process.close()
    early.push(chunk)
  }
  const onHead = headLine(line => {
    pid = Number(line)
    started.resolve()
    for (const chunk of early.splice(0)) events.onStderr(chunk)
  }, events.onData)

  const command = ['/bin/sh', '-c', PIPES_SCRIPT, 'berth', mark.nonce, ...envWords(env), ...args]
  const process = await openProcess(
    link,
    place,
    { command, tty: false, stdin: true },
    {
      onStdout: chunk => {
        onHead(chunk)
        stir()
      },
      onStderr: chunk => {
        const { rest, code: told } = mark.read(chunk)
        onErrors(rest)
        code ??= told
        stir()
      },
      onDrain: events.onDrain,
      onEnd: end => {
        if (hasEnded) return
        hasEnded = true
        if (silence) clearTimeout(silence)
        onErrors(mark.rest())
        const said = `${Buffer.concat(early)}${end.said}`.slice(0, 300)
        started.reject(new ComputeError('failed', `no shell came up: ${said}`))
        if (pid > 0) events.onEnd({ code: code ?? end.code, signal: null })
      },
    },
  )
  process.resume()
  await started.promise

  return {
    write: process.write,
    end: process.endInput,
    resize: () => undefined,
    signal: name => {
      if (pid > 0 && !hasEnded && SIGNALS.has(name)) killGroup(link, place, pid, name).catch(() => undefined)
    },
    pause: () => {
      isPaused = true
      stir()
      process.pause()
    },
    resume: () => {
      isPaused = false
      process.resume()
      stir()
    },
    hangUp: process.close,
  }
}
