import type { CommandEnd } from './machines.ts'

/** The longest report that is read. */
export const COMMAND_REPORT_BYTES_MAX = 100

/** How a command that ended is run again, in seconds. */
export interface CommandPauses {
  /** Before it is run again for the first time; each further pause is twice as long. */
  first_s: number
  most_s: number
  /** Once it has run for so long, the next pause is the first one again. */
  settled_s: number
}
export const COMMAND_PAUSES: CommandPauses = { first_s: 1, most_s: 60, settled_s: 60 }

/** More ends than this are not counted. */
const COUNT_MAX = 1_000_000
const EXIT_CODE_MAX = 255
const MS_PER_S = 1_000

/** `<exit code> <how many times it has ended> <seconds until it is run again, or ->`, with spaces behind or none. */
const REPORT = /^(\d{1,3}) (\d{1,9}) (?:(\d{1,2})|-) *\n?$/

/**
 * Reads what a machine says of the end of its command, which is whatever its customer likes.
 * @param report What it says.
 * @param said.started_at When the machine started; a report that is older is one of an earlier start.
 * @param said.ended_at When the report was written, by the computer's clock.
 * @param said.now What comes later than this did not happen yet.
 * @returns Null where it says nothing of sense.
 */
export function readCommandEnd(
  report: string,
  said: { started_at: Date; ended_at: Date; now: Date },
): CommandEnd | null {
  const found = REPORT.exec(report)
  const [exitCode, count, pauseS] = (found?.slice(1) ?? []).map(Number)
  if (exitCode === undefined || count === undefined || exitCode > EXIT_CODE_MAX || count < 1) return null
  // Some file systems keep whole seconds.
  if (said.ended_at.getTime() + MS_PER_S < said.started_at.getTime()) return null
  const endedMs = Math.min(Math.max(said.ended_at.getTime(), said.started_at.getTime()), said.now.getTime())
  return {
    exit_code: exitCode,
    ended_at: new Date(endedMs),
    count: Math.min(count, COUNT_MAX),
    again_at: found?.[3] === undefined ? null : new Date(endedMs + Number(pauseS) * MS_PER_S),
  }
}
