import { topup } from '@berth/contract/billing'
import { deployInstance, startWebTerminal, terminateInstance } from '@berth/contract/instances'
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest'
import { openTerminal } from '../../src/domains/reach/reach-fixture.ts'
import { describeWhere } from '../../src/drivers/compute/conformance/tools.ts'
import { probeSandbox } from '../../src/drivers/compute/sandbox/probe-sandbox.ts'
import { readBooks } from './books-fixture.ts'
import { type Customer, deployInput, signUp, topupInput } from './customer-fixture.ts'
import { createGatewayHome, type GatewayHome } from './gateway-home-fixture.ts'
import { type Load, startLoad } from './load-fixture.ts'
import { isRunning, postgresPid } from './processes-fixture.ts'

const KILLS = 3
/** Calls that must have worked before a kill and after it. */
const CALLS_BETWEEN = 200
/** It takes about a second; a busy computer needs longer. */
const RECOVERY = { timeout: 60_000, interval: 25 }
const TEST_MS = 400_000

describeWhere('a gateway with the sandbox', await probeSandbox(), () => {
  let home: GatewayHome
  beforeAll(async () => {
    home = await createGatewayHome()
  })
  afterAll(() => home.remove())

  test(
    '[B2] [B3] its database killed with -9 three times under load, it fails clearly, recovers by itself and keeps the books',
    async () => {
      onTestFailed(() => void process.stderr.write(home.output()))
      const run = await home.start()
      const customer = await signUp(home.origin)
      await customer.data(topup, topupInput(10_000))
      const { instance_id } = await customer.data(deployInstance, deployInput('before'))
      await customer.untilRunning(instance_id)
      const terminal = await openTerminal(home.origin, await ticketFor(customer, instance_id))
      terminal.type('echo one-$((20 + 3))\n')
      await terminal.shows(/one-23/)

      const load = startLoad(customer)
      await enough(load)
      for (let kills = 0; kills < KILLS; kills++) await killDatabase(home, load)
      await load.end()
      expect(load.wrong).toEqual([])
      expect(isRunning(run.pid)).toBe(true)
      await expectBooks(home, customer, load)

      // The shell was open all the time, and a new one opens.
      terminal.type('echo two-$((20 + 4))\n')
      await terminal.shows(/two-24/)
      await terminal.leave()
      const again = await openTerminal(home.origin, await ticketFor(customer, instance_id))
      await again.shows(/two-24/)
      await again.leave()
      const other = await customer.data(deployInstance, deployInput('after'))
      await customer.untilRunning(other.instance_id)
      for (const id of [instance_id, other.instance_id]) {
        await customer.data(terminateInstance, { params: { id } })
        await expect.poll(() => customer.find(id), RECOVERY).toBeUndefined()
      }
      await expectBooks(home, customer, load)
      expect(await run.interrupt()).toBe(0)
    },
    TEST_MS,
  )
})

/** Kills the database while calls are under way, and waits until another one serves them. */
async function killDatabase(home: GatewayHome, load: Load): Promise<void> {
  const failedBefore = load.count.failed
  const server = postgresPid(home.dataDir)
  process.kill(server, 'SIGKILL')
  await expect.poll(() => load.count.failed, RECOVERY).toBeGreaterThan(failedBefore)
  await expect.poll(() => postgresPid(home.dataDir), RECOVERY).not.toBe(server)
  await enough(load)
}

async function enough(load: Load): Promise<void> {
  const { worked } = load.count
  await expect.poll(() => load.count.worked - worked, RECOVERY).toBeGreaterThan(CALLS_BETWEEN)
}

/** Each key that was answered made one settled top-up and one charge, and there are no others than the first. */
async function expectBooks(home: GatewayHome, customer: Customer, load: Load): Promise<void> {
  const books = await readBooks(home.dataDir, customer.userId)
  expect(books.problems).toEqual([])
  expect(books.strayCharges).toBe(0)
  const byLoad = books.topups.filter(({ key }) => key.startsWith('load-'))
  expect(books.topups).toHaveLength(byLoad.length + 1)
  expect(new Map(byLoad.map(({ key, cents }) => [key, cents]))).toEqual(load.settled)
  expect(byLoad).toHaveLength(load.settled.size)
  for (const { state, charges } of books.topups) {
    expect({ state, charges }).toEqual({ state: 'succeeded', charges: 1 })
  }
}

async function ticketFor(customer: Customer, instance_id: string): Promise<string> {
  return (await customer.data(startWebTerminal, { body: { instance_id } })).ticket
}
