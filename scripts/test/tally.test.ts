import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { playwrightTally } from '../../e2e/playwright-tally.ts'
import { pinnedNode, root, toolPath } from '../lib/paths.mjs'
import { lookAgain } from './second-look.ts'
import {
  printedSkipReasons,
  shortReason,
  slowestLine,
  summaryLine,
  sumTallies,
  type Tally,
  tallyDetails,
  withPrintedReasons,
} from './tally.ts'
import { VITEST_TALLY_FILE } from './vitest-tally-reporter.ts'

describe('the summary', () => {
  const clean: Tally = { passed: 2, failed: [], skipped: [] }
  const mixed: Tally = {
    passed: 1,
    failed: [{ name: 'a > b', why: 'expected 1' }],
    skipped: [{ name: 'c', why: undefined }],
  }

  test('adds stages up, and names skips only when there are some', () => {
    expect(summaryLine(clean)).toBe('2 passed, 0 failed')
    expect(summaryLine(sumTallies([clean, mixed]))).toBe('3 passed, 1 failed, 1 skipped')
  })

  test('lists what failed and what was skipped, with the reason', () => {
    const reasons = printedSkipReasons('noise\n  SKIP docker driver: no engine answers\n')
    const skipped = [{ name: 'compute.test.ts > docker driver > starts', why: undefined }]
    const tally = withPrintedReasons({ ...mixed, skipped }, reasons)
    expect(tallyDetails(tally)).toEqual([
      'Skipped:',
      '  compute.test.ts > docker driver > starts: no engine answers',
      'Failed:',
      '  a > b: expected 1',
    ])
    expect(tallyDetails(mixed)).toContain('  c: no reason given')
    expect(tallyDetails(clean)).toEqual([])
  })

  test('says what an error says on one line, without colours, and not at any length', () => {
    expect(shortReason('\u001b[31mexpected 1\n\n  to be 2\u001b[39m')).toBe('expected 1 to be 2')
    expect(shortReason('x'.repeat(10_000)).length).toBeLessThan(500)
    expect(shortReason(undefined)).toBe('an error without a message')
  })

  test('names the ten files that took longest, of all stages together', () => {
    const times = Array.from({ length: 8 }, (_, at) => ({ file: `${at}.test.ts`, seconds: at }))
    const walks = [{ file: 'e2e/a.spec.ts', seconds: 6.54 }]
    const line = slowestLine(
      sumTallies([
        { ...clean, times },
        { ...clean, times: [...walks, ...times] },
      ]),
    )
    expect(line).toMatch(/^Slowest files: 7\.test\.ts 7\.0 s, 7\.test\.ts 7\.0 s, e2e\/a\.spec\.ts 6\.5 s, /)
    expect(line.split(', ')).toHaveLength(10)
    expect(slowestLine(clean)).toBe('')
  })
})

describe('a second look', () => {
  const shaky = { name: 'a.test.ts > shaky', why: 'not within 5 s', file: 'a.test.ts' }
  const wrong = { name: 'b.test.ts > wrong', why: 'expected 1', file: 'b.test.ts' }
  const first: Tally = { passed: 7, failed: [shaky, wrong], skipped: [] }
  const clean: Tally = { passed: 3, failed: [], skipped: [] }

  test('lets pass what fails only beside others, and names it', async () => {
    const asked: string[][] = []
    const tally = await lookAgain(first, async files => {
      asked.push([...files])
      return { passed: 2, failed: [{ ...wrong, why: 'expected 2' }], skipped: [] }
    })
    expect(asked).toEqual([['a.test.ts', 'b.test.ts']])
    expect(tally).toEqual({ passed: 8, failed: [wrong], skipped: [], unsteady: [shaky] })
    const lines = tallyDetails(sumTallies([tally, clean]))
    expect(lines).toEqual([
      'Unsteady, passed when run once more alone:',
      '  a.test.ts > shaky: not within 5 s',
      'Failed:',
      '  b.test.ts > wrong: expected 1',
    ])
  })

  test('is not had by what passed, by many files, or by what belongs to no file', async () => {
    const never = () => Promise.reject(new Error('ran again'))
    expect(await lookAgain(clean, never)).toBe(clean)
    const many = { ...clean, failed: [...'abcdefghijklm'].map(name => ({ name, file: `${name}.test.ts` })) }
    expect(await lookAgain(many, never)).toBe(many)
    const homeless = { ...clean, failed: [shaky, { name: 'Vitest' }] }
    expect(await lookAgain(homeless, never)).toBe(homeless)
  })

  test('clears nothing when it breaks down itself, or another test of the file fails', async () => {
    const broken = { ...clean, failed: [{ name: 'Vitest', why: 'it ended with an error' }] }
    expect((await lookAgain(first, async () => broken)).failed).toEqual(first.failed)
    const other = { ...clean, failed: [{ name: 'a.test.ts > other', file: 'a.test.ts' }] }
    expect(await lookAgain(first, async () => other)).toMatchObject({ failed: [shaky], unsteady: [wrong] })
  })
})

describe('the runners', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'berth-tally-'))
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  })

  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  test('Vitest: passes, failures, skips with notes, broken files and broken hooks are all counted', async () => {
    writeFileSync(
      join(folder, 'mixed.test.ts'),
      `import { beforeAll, describe, expect, test } from 'vitest'
       test('fine', () => {})
       test('wrong', () => expect(1).toBe(2))
       test('absent', context => context.skip('no engine'))
       describe('group', () => {
         beforeAll(() => { throw new Error('hook') })
         test('inside', () => {})
       })`,
    )
    writeFileSync(join(folder, 'broken.test.ts'), `throw new Error('at import')`)
    const report = join(folder, 'tally.json')
    const reporter = `--reporter=${join(root, 'scripts/test/vitest-tally-reporter.ts')}`
    await runTool([toolPath('vitest'), 'run', '--root', folder, reporter], { [VITEST_TALLY_FILE]: report })

    const tally: Tally = JSON.parse(readFileSync(report, 'utf8'))
    expect(tally.passed).toBe(1)
    expect(tally.failed.sort((one, other) => one.name.localeCompare(other.name))).toEqual([
      { name: 'broken.test.ts (the file itself)', why: 'at import', file: 'broken.test.ts' },
      { name: 'mixed.test.ts > group (hooks)', why: 'hook', file: 'mixed.test.ts' },
      {
        name: 'mixed.test.ts > wrong',
        why: 'expected 1 to be 2 // Object.is equality',
        file: 'mixed.test.ts',
      },
    ])
    expect(tally.times?.map(({ file }) => file).sort()).toEqual(['broken.test.ts', 'mixed.test.ts'])
    expect(tally.skipped).toContainEqual({ name: 'mixed.test.ts > absent', why: 'no engine' })
  })

  test('Playwright: passes, failures and skips with reasons are counted', async () => {
    writeFileSync(
      join(folder, 'mixed.spec.ts'),
      `import { expect, test } from '@playwright/test'
       test('fine', () => {})
       test.describe('group', () => { test('wrong', () => expect(1).toBe(2)) })
       test('absent', () => test.skip(true, 'no engine'))`,
    )
    expect(await playwright()).toMatchObject({
      passed: 1,
      failed: [
        {
          name: 'e2e/mixed.spec.ts > group > wrong',
          why: expect.stringMatching(/Expected: 2 Received: 1/),
          file: 'mixed.spec.ts',
        },
      ],
      skipped: [{ name: 'e2e/mixed.spec.ts > absent', why: 'no engine' }],
      times: [{ file: 'e2e/mixed.spec.ts', seconds: expect.any(Number) }],
    })
  })

  test('Playwright: a file that breaks is a failure', async () => {
    writeFileSync(join(folder, 'broken.spec.ts'), `throw new Error('at import')`)
    const tally = await playwright()
    expect(tally.failed[0]?.why).toContain('at import')
  })

  async function playwright(): Promise<Tally> {
    const report = join(folder, 'report.json')
    const args = [toolPath('playwright', 'e2e'), 'test', '--reporter=json']
    await runTool(args, { PLAYWRIGHT_JSON_OUTPUT_FILE: report })
    return playwrightTally(JSON.parse(readFileSync(report, 'utf8')))
  }

  /** Runs a runner to its end; that it ends with an error is what some tests are about. */
  function runTool(args: string[], extra: Record<string, string>): Promise<void> {
    // A runner inside a runner must not take itself for a worker of the outer one.
    const kept = Object.entries(process.env).filter(
      ([name]) => !/^(VITEST|TEST_|PLAYWRIGHT|NODE_OPTIONS)/.test(name),
    )
    const env = { ...Object.fromEntries(kept), ...extra }
    return new Promise(resolve => execFile(pinnedNode, args, { cwd: folder, env }, () => resolve()))
  }
})
