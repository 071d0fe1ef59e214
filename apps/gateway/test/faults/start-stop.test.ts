import { execFile } from 'node:child_process'
import { chownSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { getSettings } from '@berth/contract/account'
import { topup } from '@berth/contract/billing'
import { deployInstance, listInstanceEvents, startWebTerminal } from '@berth/contract/instances'
import { afterEach, describe, expect, onTestFailed, onTestFinished, test } from 'vitest'
import { openTerminal } from '../../src/domains/reach/reach-fixture.ts'
import { describeWhere } from '../../src/drivers/compute/conformance/tools.ts'
import { probeSandbox } from '../../src/drivers/compute/sandbox/probe-sandbox.ts'
import { createTestDatabase } from '../test-database.ts'
import { readBooks, readGateways } from './books-fixture.ts'
import { type Customer, deployInput, signUp, topupInput } from './customer-fixture.ts'
import { createGatewayHome, type GatewayHome, type HomeOptions } from './gateway-home-fixture.ts'
import { isRunning, postgresPid, processesOf } from './processes-fixture.ts'

const ROOT = resolve(import.meta.dirname, '../../../..')
const CATALOGUE = join(ROOT, 'config/catalogue.yaml')
/** On every Linux this is the user that owns nothing. */
const NOBODY = { uid: 65_534, gid: 65_534 }
/** The first start makes the database besides, so the second one stays below, however busy the computer is. */
const SECOND_START_FACTOR = 2
const TEST_MS = 400_000

let home: GatewayHome | undefined
afterEach(async () => {
  await home?.remove()
  home = undefined
})

describeWhere('a gateway with the sandbox', await probeSandbox(), () => {
  test(
    '[B1] Ctrl+C stops every child, and the next start brings back what ran, with its files',
    async () => {
      const { dataDir, origin, start } = await makeHome()
      const firstAt = performance.now()
      const first = await start()
      const firstMs = performance.now() - firstAt
      const customer = await signUp(origin)
      const instanceId = await deployRunning(customer)
      expect(await shell(origin, customer, instanceId, 'echo kept > ~/note; cat ~/note', /^kept/m)).toBe(
        'kept',
      )
      expect(processesOf(dataDir).length).toBeGreaterThan(2)

      expect(await first.interrupt()).toBe(0)
      expect(first.output()).toContain('Stopped.')
      expect(processesOf(dataDir)).toEqual([])

      const startedAt = performance.now()
      await start()
      expect(performance.now() - startedAt).toBeLessThan(SECOND_START_FACTOR * firstMs)
      await customer.untilRunning(instanceId)
      expect(await shell(origin, customer, instanceId, 'cat ~/note', /^kept/m)).toBe('kept')
      const events = await customer.data(listInstanceEvents, { params: { id: instanceId } })
      expect(events.map(({ code }) => code).slice(0, 2)).toEqual(['ready', 'gateway_stopped'])
      expect((await readBooks(dataDir, customer.userId)).problems).toEqual([])
    },
    TEST_MS,
  )

  test(
    '[B1] after kill -9 the next start takes over the database and the machines that were left',
    async () => {
      const { dataDir, origin, start } = await makeHome()
      const first = await start()
      const customer = await signUp(origin)
      const instanceId = await deployRunning(customer)
      const before = await customer.untilRunning(instanceId)
      await shell(
        origin,
        customer,
        instanceId,
        // What nohup itself says comes in two pieces, and would stand before ours on its line.
        'nohup sleep 4321 > /dev/null 2>&1 & echo on its way',
        /^on its way/m,
      )
      const server = postgresPid(dataDir)
      const [killed, ...others] = await readGateways(dataDir)
      expect(others).toEqual([])
      await first.kill()
      expect(isRunning(server)).toBe(true)

      const second = await start()
      expect(isRunning(server)).toBe(false)
      expect(isRunning(postgresPid(dataDir))).toBe(true)
      // Nothing of the one before is waited for: its engines, loops and rows are free at once.
      expect(await readGateways(dataDir)).not.toContain(killed)
      // The machine never stopped: what ran in it runs on, and so does its charge.
      const after = await customer.untilRunning(instanceId)
      expect(after.ready_at).toBe(before.ready_at)
      const count = 'grep -lz 432[1] /proc/[0-9]*/cmdline | wc -l | sed s/^/left-/'
      expect(await shell(origin, customer, instanceId, count, /^left-[1-9]/m)).toMatch(/left-/)
      expect((await readBooks(dataDir, customer.userId)).problems).toEqual([])
      expect(await second.interrupt()).toBe(0)
      expect(processesOf(dataDir)).toEqual([])
    },
    TEST_MS,
  )
})

describeWhere('an ordinary user', await probeOrdinaryUser(), () => {
  test(
    '[B1] an ordinary user runs all of it: sign-up, top-up, deploy, shell',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'berth-test-user-'))
      if (isRoot()) chownSync(folder, NOBODY.uid, NOBODY.gid)
      const { dataDir, origin, start } = await makeHome({ folder, ...(isRoot() && { user: NOBODY }) })
      const run = await start()
      const customer = await signUp(origin)
      const instanceId = await deployRunning(customer)
      expect(await shell(origin, customer, instanceId, 'echo as-$((40 + 2))', /^as-\d+/m)).toBe('as-42')
      expect(ownersOf(dataDir)).not.toContain('0')
      expect(await run.interrupt()).toBe(0)
      expect(processesOf(dataDir)).toEqual([])
    },
    TEST_MS,
  )
})

describe('a gateway without a way to run machines', () => {
  test(
    'says what is missing and how to get it, answers a deploy so, and does everything else',
    async () => {
      const database = await createTestDatabase()
      onTestFinished(database.drop)
      const settings = { BERTH_COMPUTE: 'none', DATABASE_URL: database.url }
      const { origin, start } = await makeHome({ settings })
      const run = await start()
      await expect.poll(run.output).toContain('Berth runs.')
      expect(run.output()).toMatch(/Machines {3}none from .+: \w.+To have one: .*\bdocker\b.*\bsandbox\b/)

      const customer = await signUp(origin)
      await customer.data(topup, topupInput(2_000))
      expect(await customer.balanceCents()).toBe(2_000)
      const { compute } = await customer.data(getSettings, {})
      expect(compute).toEqual({ driver: null })
      const refused = await customer.once(deployInstance, deployInput('none'))
      expect(refused).toMatchObject({ httpStatus: 503, envelope: { code: 'compute_unavailable' } })
      // The customer is told what concerns them; how to have machines is the operator's matter, in the log.
      expect(JSON.stringify(refused)).not.toMatch(/To have|driver|settings/)
      await expect.poll(run.output).toMatch(/"a call failed"/)
      expect(await customer.balanceCents()).toBe(2_000)
      expect(await run.interrupt()).toBe(0)
    },
    TEST_MS,
  )
})

describe('a gateway that cannot start', () => {
  test(
    'names file, line and field of each mistake in the catalogue, and exits 2',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'berth-test-fault-'))
      const file = join(folder, 'wrong.yaml')
      const lines = readFileSync(CATALOGUE, 'utf8').split('\n')
      const priceLine = lines.findIndex(line => line.includes('price_per_hour: '))
      const stockLine = lines.findLastIndex(line => line.includes('stock: '))
      lines[priceLine] = '    price_per_hour: "8 cents"'
      lines[stockLine] = '    stock: { nowhere: 1 }'
      writeFileSync(file, lines.join('\n'))
      const { launch } = await makeHome({ folder, settings: { BERTH_CATALOGUE: file } })

      const run = launch()
      expect(await run.ended).toBe(2)
      expect(run.output()).toContain(`${file}:${priceLine + 1}: gpu_specs.0.price_per_hour: `)
    },
    TEST_MS,
  )

  test(
    'names each wrong setting and what it takes, never the value of a secret one, and exits 2',
    async () => {
      const { launch } = await makeHome()
      const run = launch({ BERTH_COMPUTE: 'cloud', BERTH_METERING_MS: 'often', DATABASE_URL: 'hunter2' })
      expect(await run.ended).toBe(2)
      expect(run.output()).toContain('BERTH_COMPUTE takes auto, docker, sandbox or none; it got "cloud".')
      expect(run.output()).toMatch(/BERTH_METERING_MS takes milliseconds.*"often"/)
      expect(run.output()).toContain('DATABASE_URL takes')
      expect(run.output()).not.toContain('hunter2')
    },
    TEST_MS,
  )
})

/** A home that is removed after the test; what its gateways said is shown when the test fails. */
async function makeHome(options: HomeOptions = {}): Promise<GatewayHome> {
  const made = await createGatewayHome(options)
  home = made
  onTestFailed(() => void process.stderr.write(made.output()))
  return made
}

async function deployRunning(customer: Customer): Promise<string> {
  await customer.data(topup, topupInput(2_000))
  const { instance_id } = await customer.data(deployInstance, deployInput('kept'))
  await customer.untilRunning(instance_id)
  return instance_id
}

/** Types a line into the web terminal and gives the part of what it shows that matches. */
async function shell(
  origin: string,
  customer: Customer,
  instance_id: string,
  line: string,
  shows: RegExp,
): Promise<string> {
  const { ticket } = await customer.data(startWebTerminal, { body: { instance_id } })
  const terminal = await openTerminal(origin, ticket)
  terminal.type(`${line}\n`)
  const [shown] = await terminal.shows(shows)
  await terminal.leave()
  return shown
}

/** User ids of the processes of a data folder, as the kernel knows them. */
function ownersOf(dataDir: string): (string | undefined)[] {
  return processesOf(dataDir).map(({ pid }) => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return /^Uid:\s+(\d+)/m.exec(status)?.[1]
  })
}

function isRoot(): boolean {
  return process.getuid?.() === 0
}

/** Whether a user without rights can run the programs of this clone, and make namespaces. */
async function probeOrdinaryUser(): ReturnType<typeof probeSandbox> {
  const sandbox = await probeSandbox()
  if (!sandbox.ok || !isRoot()) return sandbox
  const run = (file: string, args: string[]) => promisify(execFile)(file, args, { ...NOBODY, cwd: '/' })
  try {
    await run(process.execPath, ['-e', `require('node:fs').readdirSync(${JSON.stringify(ROOT)})`])
  } catch {
    return {
      ok: false,
      why: 'other users cannot read this clone',
      how_to_get_it: 'clone into a folder that every user may enter',
    }
  }
  try {
    await run('unshare', ['--user', '--map-root-user', '--net', 'true'])
  } catch {
    return {
      ok: false,
      why: 'user namespaces are for root alone here',
      how_to_get_it: 'sysctl -w user.max_user_namespaces=65536',
    }
  }
  return { ok: true }
}
