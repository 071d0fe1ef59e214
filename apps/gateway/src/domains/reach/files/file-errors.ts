import type { ErrorCode } from '@berth/contract/errors'
import { ComputeError, type ComputeErrorCode } from '../../../drivers/compute/port/compute-error.ts'
import { ApiError } from '../../../platform/http/api-error.ts'

/** What scripts end with that know what is wrong. Codes below these are those of programs, and of shells above 125. */
export const EXIT = {
  missing: 41,
  exists: 42,
  wrongKind: 43,
  outOfStep: 44,
  damaged: 45,
  cut: 46,
  noTool: 47,
} as const

const BY_EXIT: Record<number, ErrorCode> = {
  [EXIT.missing]: 'file_not_found',
  [EXIT.exists]: 'file_exists',
  [EXIT.wrongKind]: 'file_wrong_kind',
  [EXIT.outOfStep]: 'file_out_of_step',
  [EXIT.damaged]: 'file_damaged',
  [EXIT.cut]: 'file_out_of_step',
}

/** Programs say in English what went wrong; the first words that fit count. */
const BY_WORDS: readonly (readonly [RegExp, ErrorCode])[] = [
  [/no space left|quota exceeded|file too large/i, 'file_no_room'],
  [/permission denied|not permitted|read-only/i, 'file_denied'],
  [/not empty/i, 'file_folder_not_empty'],
  [/file exists/i, 'file_exists'],
  [/is a directory|not a directory/i, 'file_wrong_kind'],
  [/no such file|nonexistent/i, 'file_not_found'],
]

const SAID_CHARS_MAX = 200
/** With this shells say that there is no such program. */
const NOT_FOUND = 127

/** What ran in the machine is gone without a word. */
export class MachineGone extends Error {}

/**
 * What a script failed with, as an error that may be shown.
 * @param said What its programs wrote: words of the customer's own machine, which only that customer reads.
 */
export function errorOf(code: number, said: string): ApiError {
  const known = BY_EXIT[code]
  if (known) return new ApiError(known)
  const last = said.trim().split('\n').at(-1) ?? ''
  const words = last.replace(/[^\x20-\x7e]/g, '?').slice(0, SAID_CHARS_MAX)
  if (code === EXIT.noTool) return new ApiError('files_no_tool', { values: { tool: words } })
  if (code === NOT_FOUND) return new ApiError('files_no_tool', { values: { tool: toolIn(words) } })
  const told = BY_WORDS.find(([pattern]) => pattern.test(said))?.[1]
  if (told) return new ApiError(told)
  return new ApiError('file_failed', { values: { said: words === '' ? `exit ${code}` : words } })
}

const BY_COMPUTE: Partial<Record<ComputeErrorCode, ErrorCode>> = {
  not_running: 'instance_not_running',
  not_found: 'instance_not_running',
  no_shell: 'files_no_shell',
  guest_closed: 'files_guest_closed',
  guest_refused: 'files_guest_refused',
  outdated: 'files_outdated',
  unsupported: 'files_unsupported',
  exhausted: 'transfer_limit',
}

/** Why no program could be run in a machine. */
export function refusalOf(error: unknown): unknown {
  if (!(error instanceof ComputeError)) return error
  const code = BY_COMPUTE[error.code]
  return code ? new ApiError(code) : new ApiError('unavailable', { cause: error })
}

/** The program in `sh: 1: exec: rmdir: not found`. */
function toolIn(words: string): string {
  return /([\w.-]+): (?:command )?not found/.exec(words)?.[1] ?? words
}
