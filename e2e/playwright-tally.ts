import type { JSONReport, JSONReportSpec, JSONReportSuite } from '@playwright/test/reporter'
import { shortReason, type Tally } from '../scripts/test/tally.ts'

/** Reads Playwright's JSON report. Errors outside of any test count as one failure each. */
export function playwrightTally(report: JSONReport): Tally {
  const tally: Tally = { passed: 0, failed: [], skipped: [] }
  for (const error of report.errors) tally.failed.push({ name: 'e2e', why: shortReason(error.message) })
  for (const { title, spec } of report.suites.flatMap(suite => specsOf(suite, ''))) {
    for (const test of spec.tests) {
      const name = `e2e/${spec.file} > ${title}`
      if (test.status === 'unexpected') {
        const error = test.results.flatMap(({ errors }) => errors)[0]
        tally.failed.push({ name, why: shortReason(error?.message), file: spec.file })
      } else if (test.status === 'skipped') {
        const note = test.annotations.find(({ type }) => type === 'skip' || type === 'fixme')
        tally.skipped.push({ name, why: note?.description })
      } else tally.passed += 1
    }
  }
  tally.times = report.suites.map(suite => ({ file: `e2e/${suite.file}`, seconds: secondsOf(suite) }))
  return tally
}

function secondsOf(suite: JSONReportSuite): number {
  const results = specsOf(suite, '').flatMap(({ spec }) => spec.tests.flatMap(test => test.results))
  return results.reduce((sum, { duration }) => sum + duration, 0) / 1_000
}

function specsOf(suite: JSONReportSuite, prefix: string): { title: string; spec: JSONReportSpec }[] {
  return [
    ...suite.specs.map(spec => ({ title: `${prefix}${spec.title}`, spec })),
    ...(suite.suites ?? []).flatMap(child => specsOf(child, `${prefix}${child.title} > `)),
  ]
}
