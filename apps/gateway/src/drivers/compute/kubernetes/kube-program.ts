import type { Duplex } from 'node:stream'
import { ComputeError } from '../port/compute-error.ts'
import type { RunOptions } from '../port/console.ts'
import { EARLY_ERRORS_BYTES_MAX, runOnLine, SIGNALS } from '../sessions/program-line.ts'
import type { Program, ProgramEvents } from '../sessions/serve-program.ts'
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

/**
 * Runs a program in a machine, with streams of its own.
 * @returns Its line, as the port says.
 * @throws ComputeError, and as `KubeLink.socket` does.
 */
export function runProgram(link: KubeLink, place: PodPlace, options: RunOptions): Promise<Duplex> {
  return runOnLine(options, {
    openShell: (shell, events, args) => openKubeShell(link, place, shell, events, args),
    onPipes: (asked, events) => onPipes(link, place, asked, events),
  })
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
