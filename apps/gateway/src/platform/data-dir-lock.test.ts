import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockDataDir } from './data-dir-lock.ts'
import { systemIds } from './ids.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-test-lock-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const [first, second] = [systemIds.uuid(), systemIds.uuid()]

test('a folder in use is refused, and one that was given back names nobody', () => {
  const lock = lockDataDir(folder, first)
  expect(() => lockDataDir(folder, second)).toThrow(`process ${process.pid}`)
  lock.release()
  expect(lockDataDir(folder, second).formerGatewayId).toBeNull()
})

test('[B1] the lock of a dead process is taken, and names its gateway', () => {
  // No process has this number with that beginning.
  writeFileSync(join(folder, 'gateway.lock'), `${process.pid} another-boot/1\n${first}\n`)
  expect(lockDataDir(folder, second).formerGatewayId).toBe(first)
})

test.each(['', '\n', '\nnot an id\n'])(
  'a dead lock that names no gateway is taken all the same: %j',
  rest => {
    writeFileSync(join(folder, 'gateway.lock'), `${process.pid} another-boot/1${rest}`)
    expect(lockDataDir(folder, second).formerGatewayId).toBeNull()
  },
)
