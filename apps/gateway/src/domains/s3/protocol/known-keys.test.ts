import { expect, test } from 'vitest'
import type { KnownKey } from '../gateway-side.ts'
import { createKnownKeys } from './known-keys.ts'

const claim = { accessKeyId: 'BKIAAAAAAAAAAAAAAAAA', date: '20261123', region: 'us-west' }

test('[R2.25] a key is asked for once in a while, at once after a change, and again where a change came meanwhile', async () => {
  let now = 0
  let asked = 0
  let answer = Promise.withResolvers<KnownKey>()
  const key = { userId: 'u' } as KnownKey
  const keys = createKnownKeys({
    gateway: {
      findKey: () => {
        asked += 1
        return answer.promise
      },
    },
    now: () => now,
    knownMs: 5_000,
    most: 2,
  })
  answer.resolve(key)
  await Promise.all([keys.find(claim), keys.find(claim)])
  await keys.find(claim)
  expect(asked).toBe(1)
  now = 5_000
  await keys.find(claim)
  expect(asked).toBe(2)
  keys.forget()
  answer = Promise.withResolvers()
  const old = keys.find(claim)
  expect(asked).toBe(3)
  keys.forget()
  answer.resolve(key)
  await old
  await keys.find(claim)
  expect(asked).toBe(4)
})
