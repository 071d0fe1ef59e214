import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createAddressCheck } from './address-check.ts'
import type { OtherGateway } from './registry.ts'

const moment = (seconds: number) => new Date(seconds * 1_000)

/** A check of one other gateway, whose state a test changes between looks. */
function setUp(address: string) {
  const state = { rows: [{ id: 'other', address, seenUntil: moment(0) }] as OtherGateway[], isThere: false }
  const said: string[] = []
  let asked = 0
  const look = createAddressCheck({
    others: async () => state.rows,
    answers: async () => {
      asked += 1
      return state.isThere
    },
    log: pino(
      { level: 'warn' },
      { write: line => void said.push((JSON.parse(line) as { msg: string }).msg) },
    ),
  })
  return {
    state,
    said,
    asked: () => asked,
    async lookAt(seconds: number) {
      for (const row of state.rows) row.seenUntil = moment(seconds)
      await look()
    },
  }
}

test('[B14] one that lives on and is not found at its loopback address is told of once, with what to set', async () => {
  const { said, lookAt } = setUp('127.0.0.1:4711')
  for (const seconds of [10, 12, 14, 16]) await lookAt(seconds)
  expect(said).toHaveLength(1)
  expect(said[0]).toMatch(/127\.0\.0\.1:4711.*set BERTH_INTERNAL_HOST there/)
})

test('one at another address is told of with all settings that may be wrong', async () => {
  const { said, lookAt } = setUp('10.0.0.7:4711')
  for (const seconds of [10, 12]) await lookAt(seconds)
  expect(said[0]).toMatch(/10\.0\.0\.7:4711.*BERTH_INTERNAL_ADDRESS/)
})

test('one that has died is not told of: its row is not renewed, and goes', async () => {
  const { said, state, lookAt } = setUp('127.0.0.1:4711')
  for (const seconds of [10, 10, 10]) await lookAt(seconds)
  state.rows = []
  await lookAt(12)
  expect(said).toEqual([])
})

test('one that answers is asked once', async () => {
  const { said, state, asked, lookAt } = setUp('127.0.0.1:4711')
  state.isThere = true
  for (const seconds of [10, 12, 14]) await lookAt(seconds)
  expect([asked(), said]).toEqual([1, []])
})
