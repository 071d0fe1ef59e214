import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import type { RunOptions } from '../../../../drivers/compute/port/console.ts'
import { openProgram, type ProgramLine } from '../../../../drivers/compute/port/program-line.ts'
import type { CustomerRoom } from '../customer-room.ts'
import { gatherBytes, joined } from '../gathered-bytes.ts'
import type { Status } from './sftp-wire.ts'

/** Runs a program in the machine whose files are meant. */
export type Run = (options: RunOptions) => Promise<Duplex>

/** What a request fails with. */
export class FileFault extends Error {
  readonly status: Status
  constructor(status: Status, message: string = status) {
    super(message)
    this.status = status
  }
}

/** A shell in the machine that is asked one thing after the other. */
export interface MachineShell {
  /**
   * Runs lines. What they read is empty; both of their outputs come as one.
   * @throws FileFault with what they said where they end with another code than 0.
   */
  ask(lines: string): Promise<string>
  close(): void
}

/** All that is said at once: a folder of some hundred thousand names. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024
const MARK_BYTES = 12
/** The line that ends an answer: the mark, a code, what stands around them. */
const LAST_LINE_CHARS_MAX = 2 * MARK_BYTES + 6
/** What programs say of a fault comes in some lines, and whatever else a machine says is not looked through. */
const FAULT_CHARS_MAX = 2_000
/** Programs say in English what went wrong. */
export const PLAIN = { LC_ALL: 'C' } as const

/**
 * Opens the shell.
 * @param room For answers while they come.
 */
export async function openMachineShell(run: Run, room: CustomerRoom): Promise<MachineShell> {
  const mark = randomBytes(MARK_BYTES).toString('hex')
  const lastLine = new RegExp(`\\n${mark} (\\d{1,3})\\n$`)
  let came = gatherBytes()
  /** The end of what came, as long as a last line is. */
  let tail = ''
  let waiting: { resolve(answer: string): void; reject(fault: FileFault): void } | null = null
  let isOver = false

  /** Takes what came. */
  const taken = () => {
    const { length } = came
    const bytes = joined(came.take(length))
    room.give(length)
    came = gatherBytes()
    tail = ''
    return bytes
  }
  const fail = (why: string) => {
    isOver = true
    taken()
    waiting?.reject(new FileFault('failure', why))
    waiting = null
    line?.close()
  }
  let line: ProgramLine | null = null
  const stream = await run({ command: null, env: PLAIN })
  line = openProgram(stream, {
    onOutput(piece) {
      if (came.length + piece.length > ANSWER_BYTES_MAX || !room.take(piece.length)) {
        return fail('too long an answer')
      }
      came.add(piece)
      // Only the end of what came may hold the mark.
      const from = Math.max(0, piece.length - LAST_LINE_CHARS_MAX)
      tail = `${tail}${piece.toString('latin1', from)}`.slice(-LAST_LINE_CHARS_MAX)
      const found = waiting && lastLine.exec(tail)
      if (!waiting || !found) return
      const { resolve, reject } = waiting
      waiting = null
      const end = came.length - found[0].length
      const answer = taken().toString('latin1', 0, end)
      if (found[1] === '0') resolve(answer)
      else reject(faultOf(answer))
    },
    onErrors: () => undefined,
    onEnd: () => fail('the machine’s shell ended'),
  })

  return {
    ask: lines =>
      new Promise((resolve, reject) => {
        if (isOver) return reject(new FileFault('failure', 'the machine’s shell ended'))
        waiting = { resolve, reject }
        const asked = `(${lines}\n) </dev/null 2>&1; printf '\\n%s %s\\n' ${mark} $?\n`
        line?.write(Buffer.from(asked, 'latin1'), () => undefined)
      }),
    close: () => fail('closed'),
  }
}

/** A path for a line of the shell: whatever it holds, it is one word and no option. */
export function quoted(path: string): string {
  if (path === '' || path.includes('\0')) throw new FileFault('no_such_file')
  const safe = path.startsWith('/') ? path : `./${path}`
  return `'${safe.replaceAll("'", "'\\''")}'`
}

/** A path in ASCII that `printf` makes its bytes of, and a dot: it keeps line ends there, which are else taken away. */
export function spelled(path: string): string {
  quoted(path)
  const bytes = [...Buffer.from(path.startsWith('/') ? path : `./${path}`, 'latin1')]
  return `${bytes.map(byte => `\\${byte.toString(8).padStart(3, '0')}`).join('')}.`
}

/** A line of ASCII that makes a path the variable `p`: a command is text, and a path is bytes. */
export function assigned(path: string): string {
  return `p=$(printf '${spelled(path)}'); p=\${p%.}`
}

/** What a program said, in the words of the protocol. */
export function faultOf(all: string): FileFault {
  const said = all.slice(-FAULT_CHARS_MAX)
  if (/no such file|nonexistent|not found/i.test(said)) return new FileFault('no_such_file')
  if (/permission denied|not permitted|read-only/i.test(said)) return new FileFault('permission_denied')
  const last = said.trim().split('\n').at(-1) ?? ''
  return new FileFault('failure', last.replace(/[^\x20-\x7e]/g, '?').slice(0, 200) || 'failure')
}
