import type { ProgramEnd } from '../../sessions/frames.ts'
import type { Program, ProgramEvents } from '../../sessions/serve-program.ts'
import type { PtyEvents, PtyProcess, Size } from '../../sessions/session.ts'
import type { GuestPrograms } from './guest-programs.ts'

/**
 * Once a program has ended, how long whatever it left behind may hold its outputs without writing. What it wrote itself may
 * come behind the word of its end, and in a guest that is busy late.
 */
const OUTPUT_QUIET_MS = 3_000
/** What may wait to be taken by a program before whoever writes is told to wait. */
const INPUT_WAITING_BYTES_MAX = 256 * 1024
/** Signals that may be sent to a program by name; whoever has a shell may send all of them from there. */
const SIGNALS: ReadonlySet<string> = new Set(['HUP', 'INT', 'QUIT', 'TERM', 'KILL', 'USR1', 'USR2'])
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/
const TERMINAL = 'xterm-256color'
/** Says which process a program is. Files of root's own shell may say something before it, which is dropped. */
const BEGINS = 'berth-program'
const BEGIN = new RegExp(`(?:^|\\n)${BEGINS} (\\d{1,10})\\n`)
const BEFORE_BYTES_MAX = 16 * 1024

/** What is to run: a line for the machine's shell, null for the shell itself, or a program with what it is given. */
interface GuestOrder {
  what: string | null | readonly string[]
  env: Record<string, string>
  pty: Size | null
}

/** Starts a program in the guest as root, where its own programs begin, with the machine's environment. */
export async function openInGuest(
  programs: GuestPrograms,
  { what, env, pty }: GuestOrder,
  events: ProgramEvents,
): Promise<Program> {
  const { TERM = TERMINAL, ...others } = env
  const asked = { what: { command: lineFor(what, others, pty !== null) }, env: pty ? { TERM } : {}, pty }
  const { program, over } = await programs.start(asked)
  let isOver = false
  let isPaused = false
  let waiting = 0
  let isFull = false
  let exit: ProgramEnd | null = null
  let quiet: NodeJS.Timeout | null = null
  /** Its group of processes, once it has said so; a terminal's keys are its signals. */
  let group: string | null = null
  let before: Buffer | null = pty ? null : Buffer.alloc(0)

  /** What it writes from its beginning on. */
  const fromBeginning = (bytes: Buffer): Buffer => {
    if (!before) return bytes
    before = Buffer.concat([before, bytes])
    const text = before.toString('latin1')
    const found = BEGIN.exec(text)
    if (!found && before.length < BEFORE_BYTES_MAX) return Buffer.alloc(0)
    group = found?.[1] ?? null
    const rest = before.subarray(found ? found.index + found[0].length : 0)
    before = null
    return rest
  }

  const finish = (end: ProgramEnd) => {
    if (isOver) return
    isOver = true
    if (quiet) clearTimeout(quiet)
    over()
    events.onEnd(end)
  }
  /** What outlives the program may hold its outputs for ever; what it wrote before is read to its end. */
  const waitForQuiet = () => {
    if (quiet) clearTimeout(quiet)
    quiet = null
    if (!exit || isPaused || isOver) return
    const end = exit
    quiet = setTimeout(() => {
      line.close()
      finish(end)
    }, OUTPUT_QUIET_MS)
  }
  const line = program.open({
    onOutput: bytes => {
      const own = fromBeginning(bytes)
      if (own.length > 0) events.onData(own)
      waitForQuiet()
    },
    onErrors: bytes => {
      events.onStderr(bytes)
      waitForQuiet()
    },
    onExited: ({ code, signal }) => {
      exit = { code, signal }
      waitForQuiet()
    },
    onEnd: ({ code, signal }) => finish({ code, signal }),
  })

  return {
    write(data) {
      waiting += data.length
      line.write(data, () => {
        waiting -= data.length
        if (!isFull || waiting > INPUT_WAITING_BYTES_MAX) return
        isFull = false
        events.onDrain()
      })
      isFull = waiting > INPUT_WAITING_BYTES_MAX
      return !isFull
    },
    // A terminal's input never ends.
    end: () => void (pty || line.end()),
    resize: (cols, rows) => line.resize(cols, rows),
    // Servers of SSH pass no signals on to what is root's.
    signal(name) {
      if (group !== null && SIGNALS.has(name)) void signalGroup(programs, group, name).catch(() => undefined)
    },
    pause() {
      isPaused = true
      line.pause()
      waitForQuiet()
    },
    resume() {
      isPaused = false
      line.resume()
      waitForQuiet()
    },
    hangUp() {
      line.close()
      finish({ code: null, signal: null })
    },
  }
}

async function signalGroup(programs: GuestPrograms, group: string, name: string): Promise<void> {
  const { program, over } = await programs.start({
    what: { command: `kill -${name} -${group}` },
    env: {},
    pty: null,
  })
  program.open({ onOutput: () => undefined, onErrors: () => undefined, onEnd: over }).end()
}

/** Opens a shell of root's on a terminal. */
export async function openGuestShell(
  programs: GuestPrograms,
  { cols, rows, env }: Size & { env: Record<string, string> },
  events: PtyEvents,
): Promise<PtyProcess> {
  return openInGuest(
    programs,
    { what: null, env, pty: { cols, rows } },
    {
      onData: events.onData,
      onStderr: events.onData,
      onDrain: events.onDrain,
      onEnd: ({ code }) => events.onEnd(code),
    },
  )
}

/**
 * What the guest's SSH server is asked to run. It hands that to root's own shell, of whatever kind, which knows no more of
 * it than to go on as `sh` with one word.
 */
function lineFor(what: GuestOrder['what'], env: Record<string, string>, isTerminal: boolean): string {
  const variables = Object.entries(env).filter(([name]) => VARIABLE.test(name))
  const program =
    typeof what === 'string'
      ? `/bin/sh -c ${quoted(what)}`
      : (what?.map(quoted).join(' ') ?? (isTerminal ? '"$SHELL" -l' : '/bin/sh'))
  const lines = [
    '[ ! -r /run/berth-environment ] || . /run/berth-environment',
    ...variables.map(([name, value]) => `export ${name}=${quoted(value)}`),
    ...(isTerminal ? [] : [`echo ${BEGINS} $$`]),
    `exec ${program}`,
  ]
  return `exec /bin/sh -c ${quoted(lines.join('\n'))}`
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
