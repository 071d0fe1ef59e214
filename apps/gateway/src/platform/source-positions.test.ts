import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'rolldown'
import { expect, onTestFinished, test } from 'vitest'
import { withSourcePositions } from './source-positions.ts'

test('the stack of an error names the lines of the sources that what runs was built of', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-test-positions-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'other.ts'), 'export const other: number = 1\n')
  writeFileSync(
    join(folder, 'source.ts'),
    "import { other } from './other.ts'\n\nexport function fail(): never {\n  throw new Error(String(other))\n}\n",
  )
  const file = join(folder, 'dist/built.mjs')
  await build({ cwd: folder, input: 'source.ts', output: { file, sourcemap: true }, logLevel: 'silent' })

  // As Node tells it; here, where tests run, somebody else has already named the sources.
  const lines = readFileSync(file, 'utf8').split('\n')
  const line = lines.findIndex(text => text.includes('throw new Error'))
  const column = lines[line]?.indexOf('new Error') ?? 0
  const stack = `Error: 1\n    at fail (${pathToFileURL(file)}:${line + 1}:${column + 1})`
  expect(withSourcePositions(stack)).toBe(`Error: 1\n    at fail (${join(folder, 'source.ts')}:4:9)`)
})

test('a place that was built of nothing is told as it is', () => {
  const stack = 'Error: no\n    at read (file:///nowhere/at-all.mjs:3:7)\n    at node:internal/process:1:1'
  expect(withSourcePositions(stack)).toBe(stack)
})
