import { stripVTControlCharacters } from 'node:util'

/** One test that did not run, and the reason that its author or the machine gave. */
export interface Skip {
  name: string
  why: string | undefined
}

/** One test that failed, and the first that its error says, as long as there is one. */
export interface Failure {
  name: string
  why?: string
  /** Its test file, as its runner takes it; left out by what belongs to none. */
  file?: string
}

/** How long one test file took, its preparation included. */
export interface FileTime {
  file: string
  seconds: number
}

/** What a stage, or all of them, came to. A static check counts as one test. */
export interface Tally {
  passed: number
  /** The failed tests, each once. */
  failed: Failure[]
  skipped: Skip[]
  /** Tests that failed, and passed when they ran once more alone: each is among the passed ones too. */
  unsteady?: Failure[]
  /** Left out by stages that run no test files. */
  times?: FileTime[]
}

/** Long enough for what was expected and what came instead. */
const REASON_LENGTH_MAX = 400

/** Files named at the end: enough to see what a slow run spends its time on. */
const SLOWEST_FILES = 10

/** Adds tallies up. */
export function sumTallies(tallies: readonly Tally[]): Tally {
  return {
    passed: tallies.reduce((sum, tally) => sum + tally.passed, 0),
    failed: tallies.flatMap(tally => tally.failed),
    skipped: tallies.flatMap(tally => tally.skipped),
    unsteady: tallies.flatMap(tally => tally.unsteady ?? []),
    times: tallies.flatMap(tally => tally.times ?? []),
  }
}

/** The last line of a test run: `N passed, N failed`, and `, N skipped` when there are any. */
export function summaryLine(tally: Tally): string {
  const skipped = tally.skipped.length === 0 ? '' : `, ${tally.skipped.length} skipped`
  return `${tally.passed} passed, ${tally.failed.length} failed${skipped}`
}

/**
 * The skipped tests by name, one a line, with reasons, then the unsteady and the failed ones likewise, which stay in
 * sight where only the end of a long output is kept; empty when there are none.
 */
export function tallyDetails(tally: Tally): string[] {
  const skipped = tally.skipped.map(({ name, why }) => `  ${name}: ${why ?? 'no reason given'}`)
  return [
    ...(skipped.length === 0 ? [] : ['Skipped:', ...skipped]),
    ...failureLines('Unsteady, passed when run once more alone:', tally.unsteady ?? []),
    ...failureLines('Failed:', tally.failed),
  ]
}

function failureLines(title: string, failures: readonly Failure[]): string[] {
  if (failures.length === 0) return []
  return [title, ...failures.map(({ name, why }) => `  ${name}${why === undefined ? '' : `: ${why}`}`)]
}

/**
 * What an error says, on one line, short enough to be listed.
 * @param message As the runner gives it; colours for a screen are left out.
 */
export function shortReason(message: string | undefined): string {
  const line = stripVTControlCharacters(message ?? '')
    .replaceAll(/\s+/g, ' ')
    .trim()
  if (line === '') return 'an error without a message'
  return line.length > REASON_LENGTH_MAX ? `${line.slice(0, REASON_LENGTH_MAX)}…` : line
}

/** The files that took longest, longest first, on one line; empty when no file ran. */
export function slowestLine({ times = [] }: Tally): string {
  const slowest = times.toSorted((one, other) => other.seconds - one.seconds).slice(0, SLOWEST_FILES)
  const words = slowest.map(({ file, seconds }) => `${file} ${seconds.toFixed(1)} s`)
  return words.length === 0 ? '' : `Slowest files: ${words.join(', ')}`
}

/**
 * Reads reasons that tests printed as lines `SKIP <what>: <why>`. A group of tests that is skipped as a
 * whole (`describe.skipIf`) has no other place to say why.
 * @param output What the stage wrote.
 * @returns From `<what>` to `<why>`.
 */
export function printedSkipReasons(output: string): Map<string, string> {
  const reasons = new Map<string, string>()
  for (const match of output.matchAll(/^\s*SKIP (.+?): (.+)$/gm)) {
    const [, what, why] = match
    if (what !== undefined && why !== undefined) reasons.set(what, why.trim())
  }
  return reasons
}

/** Gives skipped tests without a reason the printed one whose `<what>` is part of their name. */
export function withPrintedReasons(tally: Tally, reasons: ReadonlyMap<string, string>): Tally {
  const skipped = tally.skipped.map(skip => {
    if (skip.why !== undefined) return skip
    const entry = [...reasons].find(([what]) => skip.name.includes(what))
    return { name: skip.name, why: entry?.[1] }
  })
  return { ...tally, skipped }
}
