import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { SerializedError } from 'vitest'
import type { Reporter, TestCase, TestModule, TestSpecification, TestSuite } from 'vitest/node'
import { root } from '../lib/paths.mjs'
import { BEFORE_WALKS } from './longest-first.ts'
import { type Failure, shortReason, type Tally } from './tally.ts'

/** Names the file that {@link VitestTallyReporter} writes. */
export const VITEST_TALLY_FILE = 'BERTH_VITEST_TALLY_FILE'

/** Names the file that {@link VitestTallyReporter} makes once the files have run that walks wait for. */
export const TIMED_OVER_FILE = 'BERTH_VITEST_TIMED_OVER_FILE'

/**
 * Writes what a Vitest run came to as a {@link Tally}. Vitest's own JSON report leaves out the note of
 * `context.skip(note)`, and files that break before their first test.
 */
class VitestTallyReporter implements Reporter {
  private awaited = new Set<string>()

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    const files = specifications.map(({ moduleId }) => relative(root, moduleId))
    this.awaited = new Set(BEFORE_WALKS.filter(file => files.includes(file)))
    this.tellWhenOver()
  }

  onTestModuleEnd({ relativeModuleId }: TestModule): void {
    if (this.awaited.delete(relativeModuleId)) this.tellWhenOver()
  }

  private tellWhenOver(): void {
    const file = process.env[TIMED_OVER_FILE]
    if (file !== undefined && this.awaited.size === 0) writeFileSync(file, '')
  }

  onTestRunEnd: NonNullable<Reporter['onTestRunEnd']> = (modules, unhandledErrors) => {
    const report = process.env[VITEST_TALLY_FILE]
    if (report === undefined) throw new Error(`${VITEST_TALLY_FILE} must name the file to write`)
    const tally: Tally = { passed: 0, failed: [], skipped: [], times: [] }
    for (const module of modules) {
      const file = module.relativeModuleId
      tally.times?.push({ file, seconds: secondsOf(module.diagnostic()) })
      for (const test of module.children.allTests()) {
        const name = `${file} > ${test.fullName}`
        const result = test.result()
        if (result.state === 'passed') tally.passed += 1
        else if (result.state === 'failed') tally.failed.push({ name, why: reasonOf(result.errors), file })
        else if (result.state === 'skipped') tally.skipped.push({ name, why: result.note })
        else if (isLeft(test)) tally.skipped.push({ name, why: undefined })
        else tally.failed.push({ name, why: 'it never ended', file })
      }
      if (module.errors().length > 0) {
        tally.failed.push({ name: `${file} (the file itself)`, why: reasonOf(module.errors()), file })
      }
      for (const suite of module.children.allSuites()) {
        if (suite.errors().length === 0) continue
        const name = `${file} > ${suite.fullName} (hooks)`
        tally.failed.push({ name, why: reasonOf(suite.errors()), file })
      }
    }
    tally.failed.push(...unhandledErrors.map(outsideOfTests))
    writeFileSync(report, JSON.stringify(tally))
  }
}

/** Whether it is in something that is skipped: Vitest does not always say so of what is several levels below. */
function isLeft(test: TestCase): boolean {
  let one: TestCase | TestSuite | TestModule = test
  while (one.type !== 'module') {
    if (one.options.mode === 'skip') return true
    one = one.parent
  }
  return false
}

/** An error that nothing awaited, under the file whose process had it, where that is known. */
function outsideOfTests(error: SerializedError): Failure {
  const cause = error.cause instanceof Object && 'message' in error.cause ? `: ${error.cause.message}` : ''
  const at = /^\s*at .*/m.exec(error.stack ?? '')?.[0].trim() ?? ''
  const why = shortReason(`${error.message}${cause} ${at}`.trim())
  const path: unknown = error.VITEST_TEST_PATH
  if (typeof path !== 'string') return { name: 'Vitest (outside of any test)', why }
  const file = relative(root, path)
  return { name: `${file} (outside of any test)`, why, file }
}

function reasonOf(errors: readonly { message: string }[]): string {
  return shortReason(errors[0]?.message)
}

function secondsOf(spent: ReturnType<TestModule['diagnostic']>): number {
  const { environmentSetupDuration, prepareDuration, collectDuration, setupDuration, duration } = spent
  return (environmentSetupDuration + prepareDuration + collectDuration + setupDuration + duration) / 1_000
}

// biome-ignore lint/style/noDefaultExport: Vitest loads a reporter by its file's default export.
export default VitestTallyReporter
