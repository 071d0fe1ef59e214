import { type Duplex, duplexPair } from 'node:stream'
import { asFailure, readAnswer } from '../port/answers.ts'
import type { RunOptions } from '../port/console.ts'
import { type Program, type ProgramEvents, serveProgram } from './serve-program.ts'
import type { PtyEvents, PtyProcess, Size } from './session.ts'
import { terminalSide } from './session-limits.ts'

const START_TIMEOUT_MS = 20_000
/** What a program may be sent, without `SIG`. */
export const SIGNALS: ReadonlySet<string> = new Set(['HUP', 'INT', 'QUIT', 'TERM', 'KILL', 'USR1', 'USR2'])
/** Errors that came before the first line of the output: an engine passes the two on in any order. */
export const EARLY_ERRORS_BYTES_MAX = 1024 ** 2

/** What is run, as a shell takes it. */
interface Asked {
  args: string[]
  env: Record<string, string>
}

/** How an engine without programs of its own runs one: by its terminals and its processes with pipes. */
export interface ProgramWays {
  openShell(options: Size & Pick<Asked, 'env'>, events: PtyEvents, args: string[]): Promise<PtyProcess>
  onPipes(asked: Asked, events: ProgramEvents): Promise<Program>
}

/**
 * Runs a program whose machine's end is in this process.
 * @returns Its line, as the port says.
 * @throws ComputeError where no answer comes in time, and what the engine's way throws.
 */
export async function runOnLine(options: RunOptions, ways: ProgramWays): Promise<Duplex> {
  const { command, env = {}, pty = null } = options
  const asked = { args: command === null ? [] : ['-c', command], env }
  const [near, far] = duplexPair()
  let failed: unknown = null
  void serveProgram(
    far,
    events => (pty ? onTerminal(ways, { ...pty, ...asked }, events) : ways.onPipes(asked, events)),
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
  { openShell }: ProgramWays,
  { cols, rows, args, env }: Size & Asked,
  events: ProgramEvents,
): Promise<Program> {
  const size = { cols: terminalSide(cols), rows: terminalSide(rows) }
  const onEnd = (code: number | null) => events.onEnd({ code, signal: null })
  const { onData, onDrain } = events
  const shell = await openShell({ ...size, env }, { onData, onDrain, onEnd }, args)
  // A terminal's input never ends, and its keys are its signals.
  return { ...shell, end: () => undefined, signal: () => undefined }
}
