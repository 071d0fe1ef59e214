import { type ChildProcess, spawn } from 'node:child_process'
import type { RunRequest } from '../../sessions/frames.ts'
import type { Program, ProgramEvents } from '../../sessions/serve-program.ts'
import { terminalSide } from '../../sessions/session-limits.ts'
import { findShell, openShell } from './open-shell.ts'
import { asKernelsFirstChoice } from './processes.ts'

/** Once a program has ended, how long whatever it left behind may hold its outputs without writing. */
const OUTPUT_QUIET_MS = 200

/** Signals that may be sent to a program by name; whoever has a shell may send all of them from there. */
const SIGNALS: ReadonlySet<string> = new Set(['HUP', 'INT', 'QUIT', 'TERM', 'KILL', 'USR1', 'USR2'])

/** Starts what a request wants, in the best shell that the machine has. */
export function openProgram(
  request: RunRequest,
  machine: { cwd: string; env: Record<string, string> },
  events: ProgramEvents,
): Promise<Program> | Program {
  const args = request.command === null ? [] : ['-c', request.command]
  return request.pty
    ? onTerminal(request.pty, args, { machine, env: request.env }, events)
    : onPipes(args, { ...machine, env: { ...machine.env, SHELL: findShell(), ...request.env } }, events)
}

function onTerminal(
  size: { cols: number; rows: number },
  args: string[],
  { machine, env }: { machine: { cwd: string; env: Record<string, string> }; env: Record<string, string> },
  events: ProgramEvents,
): Program {
  const onEnd = (code: number | null) => events.onEnd({ code, signal: null })
  const { cols, rows } = size
  const fits = { cols: terminalSide(cols), rows: terminalSide(rows) }
  const shell = openShell(fits, machine, env, { onData: events.onData, onDrain: events.onDrain, onEnd }, args)
  // A terminal's input never ends, and its keys are its signals.
  return { ...shell, end: () => undefined, signal: () => undefined }
}

async function onPipes(
  args: string[],
  options: { cwd: string; env: Record<string, string> },
  events: ProgramEvents,
): Promise<Program> {
  const child = asKernelsFirstChoice(() =>
    spawn(findShell(), args, { ...options, stdio: ['pipe', 'pipe', 'pipe'], detached: true }),
  )
  const { stdin, stdout, stderr } = child
  for (const stream of [stdin, stdout, stderr]) stream.on('error', () => stream.destroy())
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('spawn', resolve)
  })
  let isPaused = false
  let quiet: NodeJS.Timeout | null = null
  /** What outlives the program may hold its outputs for ever; what it wrote before is read to its end. */
  const waitForQuiet = () => {
    if (quiet) clearTimeout(quiet)
    if (child.exitCode === null && child.signalCode === null) return
    quiet = isPaused
      ? null
      : setTimeout(() => {
          stdout.destroy()
          stderr.destroy()
        }, OUTPUT_QUIET_MS)
  }
  const heard = (tell: (chunk: Buffer) => void) => (chunk: Buffer) => {
    tell(chunk)
    waitForQuiet()
  }
  stdout.on('data', heard(events.onData))
  stderr.on('data', heard(events.onStderr))
  stdin.on('drain', events.onDrain)
  // Whoever writes to a program that reads no more is not to wait for it.
  stdin.on('close', events.onDrain)
  child.once('exit', waitForQuiet)
  child.once('close', (code, signal) => {
    if (quiet) clearTimeout(quiet)
    events.onEnd({ code, signal: signal?.replace(/^SIG/, '') ?? null })
  })
  return {
    write: data => stdin.destroyed || stdin.writableEnded || stdin.write(data),
    end: () => void stdin.end(),
    resize: () => undefined,
    signal: name => signalGroup(child, name),
    pause: () => {
      isPaused = true
      stdout.pause()
      stderr.pause()
      waitForQuiet()
    },
    resume: () => {
      isPaused = false
      stdout.resume()
      stderr.resume()
      waitForQuiet()
    },
    hangUp: () => {
      for (const stream of [stdin, stdout, stderr]) stream.destroy()
    },
  }
}

function signalGroup({ pid, exitCode, signalCode }: ChildProcess, name: string): void {
  if (pid === undefined || exitCode !== null || signalCode !== null || !SIGNALS.has(name)) return
  try {
    process.kill(-pid, `SIG${name}` as NodeJS.Signals)
  } catch {
    // The group ended by itself in the meantime.
  }
}
