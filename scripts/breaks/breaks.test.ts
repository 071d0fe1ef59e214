import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { pinnedNode, root, toolPath } from '../lib/paths.mjs'
import { runCommand } from '../test/command.ts'
import { BREAKS, type Break } from './breaks.ts'
import { breakText, makeBrokenCopy } from './broken-copy.ts'

// Goal: tests notice when what they are for is broken. Method: each entry of `breaks.ts` is broken in a copy of the
// repository, whose tests of it must fail. CI does a few, others each day; BERTH_LONG_TESTS=all does all.

const BY_TURNS = 3
const DAY_MS = 86_400_000
const MINUTES_MAX = 5

const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\0')
  .filter(file => file !== '' && existsSync(join(root, file)))

test.each(BREAKS)('$what: its place and its tests are there', broken => {
  expect(breakText(broken, readFileSync(join(root, broken.file), 'utf8'))).not.toBe('')
  for (const name of broken.tests) {
    expect(
      files.filter(file => file.includes(name) && /\.test\.tsx?$/.test(file)),
      name,
    ).not.toEqual([])
  }
})

const chosen = chosenBreaks()

// A group without tests would be a fault.
if (chosen.length > 0) {
  test.each(chosen)('a test fails when $what', { timeout: MINUTES_MAX * 60_000 }, async broken => {
    const copy = makeBrokenCopy(files, broken)
    onTestFinished(copy.remove)
    const report = join(copy.dir, 'report.json')
    const args = [toolPath('vitest'), 'run', '--reporter=json', `--outputFile=${report}`, ...broken.tests]
    const { ok, output } = await runCommand(pinnedNode, args, {
      cwd: copy.dir,
      // What always runs is to notice it, and long tests would take their time. Of its files nothing has its turn later.
      env: { BERTH_LONG_TESTS: '', BERTH_TEST_TURN: '' },
      timeoutMinutes: MINUTES_MAX,
      live: false,
    })
    expect(ok, 'the tests passed').toBe(false)
    expect(existsSync(report), output).toBe(true)
    // A test failed, and not the start of them.
    expect(JSON.parse(readFileSync(report, 'utf8')).numFailedTests, output).toBeGreaterThan(0)
  })
}

function chosenBreaks(): readonly Break[] {
  const wanted = process.env.BERTH_LONG_TESTS
  if (wanted === 'all') return BREAKS
  if (wanted !== 'by-turns') return []
  const first = Math.floor(Date.now() / DAY_MS) * BY_TURNS
  return Array.from({ length: BY_TURNS }, (_, at) => BREAKS[(first + at) % BREAKS.length]).filter(
    broken => broken !== undefined,
  )
}
