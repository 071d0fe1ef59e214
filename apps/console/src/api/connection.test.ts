import { expect, onTestFinished, test, vi } from 'vitest'
import { createConnection, whenBack } from './connection.ts'

const EVERY_MS = 5_000

function watched() {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const gateway = { answers: true, asked: 0 }
  const probe = async () => {
    gateway.asked += 1
    if (!gateway.answers) throw new TypeError('Failed to fetch')
  }
  const connection = createConnection({ probe, now: () => 42, probeEveryMs: EVERY_MS })
  let backs = 0
  whenBack(() => backs++, connection)
  return { connection, gateway, backs: () => backs }
}

test('a call that was lost while the gateway answers says nothing', async () => {
  const { connection, gateway } = watched()
  connection.suspect()
  await vi.advanceTimersByTimeAsync(0)
  expect({ since: connection.lostSince(), asked: gateway.asked }).toEqual({ since: null, asked: 1 })
})

test('a gateway that does not answer is asked until it does, and then no more', async () => {
  const { connection, gateway, backs } = watched()
  gateway.answers = false
  connection.suspect()
  connection.suspect()
  await vi.advanceTimersByTimeAsync(0)
  expect({ since: connection.lostSince(), asked: gateway.asked }).toEqual({ since: 42, asked: 1 })
  await vi.advanceTimersByTimeAsync(EVERY_MS)
  expect({ asked: gateway.asked, backs: backs() }).toEqual({ asked: 2, backs: 0 })
  gateway.answers = true
  await vi.advanceTimersByTimeAsync(EVERY_MS)
  expect({ since: connection.lostSince(), backs: backs() }).toEqual({ since: null, backs: 1 })
  await vi.advanceTimersByTimeAsync(10 * EVERY_MS)
  expect(gateway.asked).toBe(3)
})

test('the answer to any call ends it, and so does asking at once', async () => {
  const { connection, backs } = watched()
  connection.lose()
  connection.hear()
  expect(backs()).toBe(1)
  connection.lose()
  await connection.look()
  expect({ since: connection.lostSince(), backs: backs() }).toEqual({ since: null, backs: 2 })
})
