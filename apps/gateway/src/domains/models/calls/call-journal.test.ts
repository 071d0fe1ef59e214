import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { EndedCall } from './allowance-book.ts'
import { createCallJournal } from './call-journal.ts'

/** A disk that is full takes a part of what it is given. */
let isFull = false
const write = (fd: number, line: Buffer) => writeSync(fd, isFull ? line.subarray(0, 20) : line)

let folder: string
const log = { error: vi.fn() }
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-calls-'))
})
afterEach(() => {
  isFull = false
  log.error.mockReset()
  rmSync(folder, { recursive: true, force: true })
})

const journalOf = (gatewayId: string) => createCallJournal({ folder, gatewayId, log, write })
function call(id: string): EndedCall {
  const used = { inputTokens: 1, cachedTokens: 0, outputTokens: 1, images: 0, videoSeconds: 0 }
  return {
    ...{ id, userId: 'u', keyId: null, modelId: 'm', streamed: false, allowanceId: 'a', name: 'M' },
    ...{ startedAt: new Date(0), endedAt: new Date(1), costMicro: 3n, meters: [] },
    how: { status: 'done', used, firstByteMs: 1 },
  }
}

test('[B2] a call that a full disk took a part of is not glued to the next one', () => {
  const journal = journalOf('one')
  journal.add(call('first'))
  isFull = true
  journal.add(call('second'))
  isFull = false
  journal.add(call('third'))
  expect(log.error).toHaveBeenCalledTimes(1)
  const [left] = journalOf('other').left()
  expect(left).toMatchObject({ calls: [call('first'), call('third')], odd: [] })
})

test('lines that are no calls are told from the one that was cut by the end of its process', () => {
  writeFileSync(join(folder, 'one-0.jsonl'), 'no call\n{"id":"a"}\n{"id":"cut')
  const journal = journalOf('other')
  const [left] = journal.left()
  expect(left).toMatchObject({ calls: [], odd: ['no call', '{"id":"a"}'] })
  expect(journal.reject(left?.odd ?? [])).toBe(true)
  expect(journal.reject([call('b')])).toBe(true)
  const rejected = readFileSync(join(folder, 'other.jsonl.rejected'), 'utf8')
  expect(rejected).toMatch(/^no call\n\{"id":"a"\}\n\{"id":"b",.*"costMicro":"3".*\}\n$/)
  // It is found by nobody until somebody gives it its name back.
  expect([...journalOf('third').left()].map(({ file }) => file)).toEqual([join(folder, 'one-0.jsonl')])
})

test('what is put aside is bounded', () => {
  writeFileSync(join(folder, 'one.jsonl.rejected'), Buffer.alloc(67_108_864))
  expect(journalOf('other').reject(['no call'])).toBe(false)
  expect(readdirSync(folder)).toEqual(['one.jsonl.rejected'])
})
