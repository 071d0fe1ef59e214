import type { Duplex } from 'node:stream'
import { readLines } from './qmp.ts'

/** Longer lines than what a guest has to say are none of ours. */
const LINE_BYTES_MAX = 512

/** `end <exit code> <how many times it has ended> <seconds until it is run again, or ->`. */
const END = /^end (\d{1,3}) (\d{1,9}) (?:(\d{1,2})|-)$/
const SETUP_FAILED = /^setup failed(?: (.*))?$/

export interface GuestReport {
  /** The machine's command has ended. */
  onEnd(end: { code: number; count: number; againS: number | null }): void
  /** What prepares the guest has failed, in its own words. */
  onSetupFailed(why: string): void
}

/** Reads what a guest says of itself, which is whatever its customer likes. */
export function readGuestReport(stream: Duplex, report: GuestReport): void {
  const onLine = (line: string) => {
    const end = END.exec(line.trim())
    if (end) {
      const againS = end[3] === undefined ? null : Number(end[3])
      return report.onEnd({ code: Number(end[1]), count: Number(end[2]), againS })
    }
    const failed = SETUP_FAILED.exec(line.trim())
    if (failed) report.onSetupFailed(failed[1] ?? '')
  }
  readLines(stream, onLine, LINE_BYTES_MAX)
  stream.on('error', () => stream.destroy())
}
