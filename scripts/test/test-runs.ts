import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { findChromium } from '../../e2e/chromium.ts'
import { playwrightTally } from '../../e2e/playwright-tally.ts'
import { pinnedNode, root, toolPath } from '../lib/paths.mjs'
import { runCommand } from './command.ts'
import { printedSkipReasons, type Tally, withPrintedReasons } from './tally.ts'
import { TIMED_OVER_FILE, VITEST_TALLY_FILE } from './vitest-tally-reporter.ts'

const VITEST_MINUTES = 45
const BROWSER_MINUTES = 20
const TIMED_POLL_MS = 250

/**
 * Runs the unit and API tests of all workspaces.
 * @param scratch A folder for the report.
 * @param filters Parts of file names; all files when empty.
 * @param extra Further options of Vitest's command line.
 */
export async function runVitest(
  scratch: string,
  filters: readonly string[],
  extra: readonly string[] = [],
): Promise<Tally> {
  const report = join(scratch, 'vitest.json')
  rmSync(report, { force: true })
  const reporters = ['--reporter=default', '--reporter=./scripts/test/vitest-tally-reporter.ts']
  const args = [toolPath('vitest'), 'run', ...reporters, ...extra, ...filters]
  const env = { [VITEST_TALLY_FILE]: report, [TIMED_OVER_FILE]: timedOverFile(scratch) }
  const result = await runCommand(pinnedNode, args, { env, timeoutMinutes: VITEST_MINUTES, live: true })
  const tally = existsSync(report) ? (JSON.parse(readFileSync(report, 'utf8')) as Tally) : empty()
  return withPrintedReasons(orFailed(tally, result.ok, 'Vitest'), printedSkipReasons(result.output))
}

/**
 * Waits until those tests of a Vitest run are over that walks do not bear beside them.
 * @param scratch The folder that {@link runVitest} was given.
 * @param run The run, whose end is waited for at most.
 */
export async function timedTestsOver(scratch: string, run: Promise<unknown>): Promise<void> {
  let ended = false
  void run.finally(() => {
    ended = true
  })
  while (!ended && !existsSync(timedOverFile(scratch))) await delay(TIMED_POLL_MS)
}

function timedOverFile(scratch: string): string {
  return join(scratch, 'timed-over')
}

/**
 * Runs the browser tests, and shows what they said when they have ended: others run beside them. Without a Chromium
 * they count as one skipped test, or in CI as a failed one.
 * @param scratch A folder for the report.
 * @param filters Parts of file names; all files when empty.
 */
export async function runBrowserTests(scratch: string, filters: readonly string[] = []): Promise<Tally> {
  if (findChromium() === undefined) {
    const why = 'no Chromium was found; install one, or name it in BERTH_CHROMIUM'
    console.log(`SKIP browser tests: ${why}`)
    if (isCi()) return { ...empty(), failed: [{ name: 'browser tests', why }] }
    return { ...empty(), skipped: [{ name: 'browser tests', why }] }
  }
  const report = join(scratch, 'playwright.json')
  rmSync(report, { force: true })
  const result = await runCommand(pinnedNode, [toolPath('playwright', 'e2e'), 'test', ...filters], {
    cwd: join(root, 'e2e'),
    env: { PLAYWRIGHT_JSON_OUTPUT_FILE: report },
    timeoutMinutes: BROWSER_MINUTES,
    live: false,
  })
  console.log(`\n${result.output.trim()}`)
  const tally = existsSync(report) ? playwrightTally(JSON.parse(readFileSync(report, 'utf8'))) : empty()
  return orFailed(tally, result.ok, 'Playwright')
}

function isCi(): boolean {
  return process.env.CI !== undefined && process.env.CI !== '' && process.env.CI !== 'false'
}

/** A runner that ended badly has failed, even when no single test says so. */
function orFailed(tally: Tally, ok: boolean, runner: string): Tally {
  if (ok || tally.failed.length > 0) return tally
  return { ...tally, failed: [{ name: runner, why: 'it ended with an error outside of any test' }] }
}

function empty(): Tally {
  return { passed: 0, failed: [], skipped: [] }
}
