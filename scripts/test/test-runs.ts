import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findChromium } from '../../e2e/chromium.ts'
import { playwrightTally } from '../../e2e/playwright-tally.ts'
import { pinnedNode, root, toolPath } from '../lib/paths.mjs'
import { runCommand } from './command.ts'
import { printedSkipReasons, type Tally, withPrintedReasons } from './tally.ts'
import { VITEST_TALLY_FILE } from './vitest-tally-reporter.ts'

const VITEST_MINUTES = 30
const BROWSER_MINUTES = 20

/**
 * Runs the unit and API tests of all workspaces.
 * @param scratch A folder for the report.
 * @param filters Parts of file names; all files when empty.
 */
export async function runVitest(scratch: string, filters: readonly string[]): Promise<Tally> {
  const report = join(scratch, 'vitest.json')
  const reporters = ['--reporter=default', '--reporter=./scripts/test/vitest-tally-reporter.ts']
  const args = [toolPath('vitest'), 'run', ...reporters, ...filters]
  const env = { [VITEST_TALLY_FILE]: report }
  const result = await runCommand(pinnedNode, args, { env, timeoutMinutes: VITEST_MINUTES, live: true })
  const tally = existsSync(report) ? (JSON.parse(readFileSync(report, 'utf8')) as Tally) : empty()
  return withPrintedReasons(orFailed(tally, result.ok, 'Vitest'), printedSkipReasons(result.output))
}

/**
 * Runs the browser tests. Without a Chromium they count as one skipped test, or in CI as a failed one.
 * @param scratch A folder for the report.
 */
export async function runBrowserTests(scratch: string): Promise<Tally> {
  if (findChromium() === undefined) {
    const why = 'no Chromium was found; install one, or name it in BERTH_CHROMIUM'
    console.log(`SKIP browser tests: ${why}`)
    if (isCi()) return { ...empty(), failed: [`browser tests: ${why}`] }
    return { ...empty(), skipped: [{ name: 'browser tests', why }] }
  }
  const report = join(scratch, 'playwright.json')
  const result = await runCommand(pinnedNode, [toolPath('playwright', 'e2e'), 'test'], {
    cwd: join(root, 'e2e'),
    env: { PLAYWRIGHT_JSON_OUTPUT_FILE: report },
    timeoutMinutes: BROWSER_MINUTES,
    live: true,
  })
  const tally = existsSync(report) ? playwrightTally(JSON.parse(readFileSync(report, 'utf8'))) : empty()
  return orFailed(tally, result.ok, 'Playwright')
}

function isCi(): boolean {
  return process.env.CI !== undefined && process.env.CI !== '' && process.env.CI !== 'false'
}

/** A runner that ended badly has failed, even when no single test says so. */
function orFailed(tally: Tally, ok: boolean, runner: string): Tally {
  if (ok || tally.failed.length > 0) return tally
  return { ...tally, failed: [`${runner}: it ended with an error outside of any test`] }
}

function empty(): Tally {
  return { passed: 0, failed: [], skipped: [] }
}
