import { IDEMPOTENCY_KEY_CHARS_MAX, IDEMPOTENCY_KEY_CHARS_MIN } from '@berth/contract/limits'
import { expect, test } from 'vitest'
import { createIdempotencyKeys, type KeyStorage } from './idempotency-keys.ts'

const TOPUP = 'bill.topup'

test('[B3] the same content keeps its key until its call has settled', () => {
  const keys = createIdempotencyKeys(memoryStorage())
  const first = keys.take(TOPUP, 'amount 2500')
  expect(keys.take(TOPUP, 'amount 2500')).toBe(first)
  keys.settle(TOPUP, first)
  expect(keys.take(TOPUP, 'amount 2500')).not.toBe(first)
})

test('[B3] a key survives a reload', () => {
  const storage = memoryStorage()
  const before = createIdempotencyKeys(storage).take(TOPUP, 'amount 2500')
  expect(createIdempotencyKeys(storage).take(TOPUP, 'amount 2500')).toBe(before)
})

test('other content is another intent, and takes another key', () => {
  const keys = createIdempotencyKeys(memoryStorage())
  const first = keys.take(TOPUP, 'amount 2500')
  expect(keys.take(TOPUP, 'amount 2501')).not.toBe(first)
})

test('each operation has keys of its own', () => {
  const keys = createIdempotencyKeys(memoryStorage())
  expect(keys.take('instance.deploy', 'x')).not.toBe(keys.take('instance.start', 'x'))
})

test('a late answer to an older call does not turn the newer key over', () => {
  const keys = createIdempotencyKeys(memoryStorage())
  const older = keys.take(TOPUP, 'amount 2500')
  const newer = keys.take(TOPUP, 'amount 5000')
  keys.settle(TOPUP, older)
  expect(keys.take(TOPUP, 'amount 5000')).toBe(newer)
})

test('[B3] calls that are under way together each keep their own key until they have settled, also over a reload', () => {
  const storage = memoryStorage()
  const before = createIdempotencyKeys(storage)
  const taken = ['a', 'b', 'c'].map(content => before.take('instance.start', content))
  expect(new Set(taken).size).toBe(3)
  before.settle('instance.start', taken[1] ?? '')
  const after = createIdempotencyKeys(storage)
  expect(after.take('instance.start', 'a')).toBe(taken[0])
  expect(after.take('instance.start', 'b')).not.toBe(taken[1])
  expect(after.take('instance.start', 'c')).toBe(taken[2])
})

test('what never settles does not pile up: the oldest is forgotten', () => {
  const storage = memoryStorage()
  const keys = createIdempotencyKeys(storage)
  const taken = Array.from({ length: 1_000 }, (_, content) => keys.take(TOPUP, String(content)))
  expect(keys.take(TOPUP, '999')).toBe(taken.at(-1))
  expect(keys.take(TOPUP, '0')).not.toBe(taken[0])
  expect([...storage.values.values()].join().length).toBeLessThan(10_000)
})

test('what is sent is not kept, only a fingerprint of it', () => {
  const storage = memoryStorage()
  createIdempotencyKeys(storage).take(TOPUP, '{"source":"4242424242424242"}')
  expect(JSON.stringify([...storage.values])).not.toContain('4242')
})

test('without a storage that can be written, keys live as long as the page', () => {
  const broken: KeyStorage = {
    getItem: () => {
      throw new Error('denied')
    },
    setItem: () => {
      throw new Error('denied')
    },
    removeItem: () => {
      throw new Error('denied')
    },
  }
  const keys = createIdempotencyKeys(broken)
  const first = keys.take(TOPUP, 'x')
  expect(keys.take(TOPUP, 'x')).toBe(first)
  keys.settle(TOPUP, first)
  expect(keys.take(TOPUP, 'x')).not.toBe(first)
})

test('a key is what the gateway takes: visible ASCII of the right length, never the same twice', () => {
  const made = Array.from({ length: 200 }, () => createIdempotencyKeys(memoryStorage()).take(TOPUP, 'x'))
  for (const key of made) {
    expect(key).toMatch(/^[\x21-\x7e]+$/)
    expect(key.length).toBeGreaterThanOrEqual(IDEMPOTENCY_KEY_CHARS_MIN)
    expect(key.length).toBeLessThanOrEqual(IDEMPOTENCY_KEY_CHARS_MAX)
  }
  expect(new Set(made).size).toBe(made.length)
})

function memoryStorage(): KeyStorage & { values: Map<string, string> } {
  const values = new Map<string, string>()
  return {
    values,
    getItem: name => values.get(name) ?? null,
    setItem: (name, value) => void values.set(name, value),
    removeItem: name => void values.delete(name),
  }
}
