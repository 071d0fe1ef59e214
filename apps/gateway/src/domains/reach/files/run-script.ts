import type { Duplex } from 'node:stream'
import type { RunOptions } from '../../../drivers/compute/port/console.ts'
import { openProgram, type ProgramLine } from '../../../drivers/compute/port/program-line.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { gatherBytes, joined } from '../ssh/gathered-bytes.ts'
import { PLAIN, spelled } from '../ssh/sftp/machine-shell.ts'
import { errorOf, MachineGone, refusalOf } from './file-errors.ts'

/** Runs a program in the machine whose files are meant. */
export type Run = (options: RunOptions) => Promise<Duplex>

const SAID_CHARS_MAX = 500
/** Shells say with codes above this that a signal ended a program. */
const SIGNALLED = 128

/**
 * Reads a path from a line of the input into a variable: paths are never part of a command. A shell reads a line to its
 * end and no further, so that what follows it is left to other programs.
 */
export const reads = (name: string) =>
  `IFS= read -r ${name} || exit 46; ${name}=$(printf "$${name}"); ${name}=\${${name}%.}`

/** Ends where one of these programs is missing. */
export const needs = (...tools: string[]) =>
  `for tool in ${tools.join(' ')}; do command -v "$tool" >/dev/null 2>&1 || { echo "$tool" >&2; exit 47; }; done`

/** A path as the line that `reads` reads. */
export function pathLine(path: string): string {
  return `${spelled(Buffer.from(path).toString('latin1'))}\n`
}

/** A script that runs. */
export interface RunningScript {
  line: ProgramLine
  /** Settles when it has ended. @throws ApiError what it failed with; MachineGone. */
  ended: Promise<void>
}

/**
 * Starts a script.
 * @param onOutput Is told what it writes, byte for byte.
 * @throws ApiError why it could not be started.
 */
export async function startScript(
  run: Run,
  command: string,
  onOutput: (bytes: Buffer) => void,
): Promise<RunningScript> {
  const stream = await run({ command, env: PLAIN }).catch(error => {
    throw refusalOf(error)
  })
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>()
  // Whoever leaves before its end does not hear of it.
  ended.catch(() => undefined)
  let said = ''
  const line = openProgram(stream, {
    onOutput,
    onErrors: bytes => {
      said = `${said}${bytes.toString('latin1')}`.slice(-SAID_CHARS_MAX)
    },
    onEnd: ({ code, lost }) => {
      // Whoever kills a script that only moves bytes kills its machine, or makes room in it.
      if (lost || code === null || code > SIGNALLED) reject(new MachineGone())
      else if (code === 0) resolve()
      else reject(errorOf(code, said))
    },
  })
  return { line, ended }
}

/**
 * Runs a script to its end.
 * @param input Its whole input.
 * @returns What it wrote, a character for each byte.
 * @throws ApiError `files_unclear` where that is more, or takes longer, than it may; what the script failed with.
 */
export async function askMachine(
  run: Run,
  command: string,
  input: string,
  { answerBytesMax, answerMs }: { answerBytesMax: number; answerMs: number },
): Promise<string> {
  const said = gatherBytes()
  const { promise: tooMuch, reject } = Promise.withResolvers<never>()
  const refuse = () => reject(new ApiError('files_unclear'))
  const timer = setTimeout(refuse, answerMs)
  let script: RunningScript | null = null
  try {
    script = await startScript(run, command, piece => {
      if (said.length + piece.length > answerBytesMax) return refuse()
      said.add(piece)
    })
    script.line.write(Buffer.from(input, 'latin1'), () => undefined)
    script.line.end()
    await Promise.race([script.ended, tooMuch])
    return joined(said.take(said.length)).toString('latin1')
  } finally {
    clearTimeout(timer)
    tooMuch.catch(() => undefined)
    script?.line.close()
  }
}
