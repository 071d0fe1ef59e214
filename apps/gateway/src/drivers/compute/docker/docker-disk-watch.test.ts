import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { logBytes } from './docker-disk-watch.ts'

test('what a container logs counts as taken by it, with the files before the newest, and nothing else of its folder', async () => {
  const root = mkdtempSync(join(tmpdir(), 'berth-docker-root-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const folder = join(root, 'containers', 'abc')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'abc-json.log'), 'x'.repeat(3_000))
  writeFileSync(join(folder, 'abc-json.log.1'), 'x'.repeat(2_000))
  writeFileSync(join(folder, 'config.v2.json'), 'x'.repeat(500))
  expect(await logBytes(root, 'abc')).toBe(5_000)
  expect(await logBytes(root, 'gone')).toBe(0)
})
