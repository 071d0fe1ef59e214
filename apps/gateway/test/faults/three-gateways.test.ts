import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { topup } from '@berth/contract/billing'
import {
  deployInstance,
  getConnection,
  listInstances,
  startWebTerminal,
  terminateInstance,
} from '@berth/contract/instances'
import { afterEach, expect, onTestFailed, test } from 'vitest'
import { openTerminal } from '../../src/domains/reach/reach-fixture.ts'
import { describeWhere } from '../../src/drivers/compute/conformance/tools.ts'
import { probeSandbox } from '../../src/drivers/compute/sandbox/probe-sandbox.ts'
import { readBooksAt } from './books-fixture.ts'
import { type Cloud, REGIONS, startCloud } from './cloud-fixture.ts'
import { type Customer, deployInput, signUp, topupInput } from './customer-fixture.ts'
import { startLoad } from './load-fixture.ts'
import { openPage, type Page } from './page-fixture.ts'
import { machinesOf, processesOf } from './processes-fixture.ts'

const FIRST_KEY = 'topped-up-first'
const PORT = 8_000
const SERVED = 'served by the machine'
/** By the one program for it that every machine of a sandbox has: the agent's own. */
const SERVE = `nohup /.berth/node -e "require('http').createServer((_, to) => to.end('${SERVED}')).listen(${PORT})" > /dev/null 2>&1 &`
/** What the product promises: a terminal is back so long after its gateway, or its engine's, was killed. */
const BACK_MS = 5_000
/**
 * A busy computer takes its time for everything. How much is measured on the spot, by how long pages take to open when
 * nothing was killed; so many times that is let pass on top of the promise.
 */
const SLOWNESS_FACTOR = 4
/** Between a caller's calls, so that gateways also come back on a computer with few cores. */
const LOAD_PAUSE_MS = 30
/** A minute on a computer that does nothing else. */
const TEST_MS = 400_000
const PATIENCE = { timeout: 60_000, interval: 100 }

let started: Cloud | undefined
afterEach(async () => {
  await started?.remove()
  started = undefined
})

describeWhere('three gateways behind a proxy without stickiness', await probeSandbox(), () => {
  test(
    '[B1] [B2] [B3] each is killed with -9 in turn under load: machines, shells, services, money and answers stay',
    async () => {
      const cloud = await start()
      const { proxy, gateways, databaseUrl, dataDir, output } = cloud
      onTestFailed(() => void process.stderr.write(output()))
      const customer = await signUp(proxy.origin)
      await customer.data(topup, topupInput(5_000), { idempotencyKey: FIRST_KEY })
      const ids = await Promise.all(Object.keys(REGIONS).map(region => deploy(customer, region)))
      for (const id of ids) await serve(proxy.origin, customer, id)
      const readyAt = await readyAtOf(customer, ids)
      const load = startLoad(customer, { pauseMs: LOAD_PAUSE_MS })

      const back: Back[] = []
      for (const gateway of gateways) {
        const pages = await openPages(cloud, customer, ids)
        const killedAt = performance.now()
        await gateway.run.kill()
        back.push(...(await untilBack(pages, gateway.home.origin, killedAt)))
        for (const page of pages.opened) page.close()
        // To whichever of the two that are left reaches the machine.
        for (const id of ids) await expectService(proxy.port, customer, id)
        gateway.run = await gateway.home.start()
      }
      expectInTime(back)

      await load.end()
      expect(load.wrong).toEqual([])
      expect(load.count.worked).toBeGreaterThan(0)
      for (const [port, count] of proxy.given) expect(count, `gateway at ${port}`).toBeGreaterThan(0)
      await expectReplays(
        gateways.map(({ home }) => home.origin),
        customer,
      )
      await expectBooks(databaseUrl, customer, load.settled)
      expect(machinesOf(dataDir)).toEqual([...ids].sort())
      // No machine was made to start again by whoever took it over.
      expect(await readyAtOf(customer, ids)).toEqual(readyAt)
      await expectStayWhenOneLeaves(cloud, customer, ids)

      for (const id of ids) await customer.data(terminateInstance, { params: { id } })
      await expect.poll(() => customer.data(listInstances, {}), PATIENCE).toEqual([])
      await expect.poll(() => machinesOf(dataDir), PATIENCE).toEqual([])
      for (const { run } of gateways) expect(await run.interrupt()).toBe(0)
      expect(processesOf(dataDir)).toEqual([])
      expect((await readBooksAt(databaseUrl, customer.userId)).problems).toEqual([])
    },
    TEST_MS,
  )
})

async function start(): Promise<Cloud> {
  started = await startCloud()
  return started
}

async function deploy(customer: Customer, region_code: string): Promise<string> {
  const { body } = deployInput(region_code)
  const { instance_id } = await customer.data(
    deployInstance,
    { body: { ...body, region_code, http_ports: [PORT] } },
    { idempotencyKey: `deploy-in-${region_code}` },
  )
  await customer.untilRunning(instance_id)
  return instance_id
}

function readyAtOf(customer: Customer, ids: string[]) {
  return Promise.all(ids.map(async id => (await customer.untilRunning(id)).ready_at))
}

/** A gateway that leaves in good order takes no machine along that another one reaches, and no shell. */
async function expectStayWhenOneLeaves(
  { proxy, gateways, dataDir }: Cloud,
  customer: Customer,
  ids: string[],
): Promise<void> {
  const [leaving] = gateways
  if (!leaving) throw new Error('no gateway')
  const where = { first: leaving.home.origin, later: proxy.origin }
  const pages = await Promise.all(ids.map(id => openPage(customer, id, where)))
  expect(await leaving.run.interrupt()).toBe(0)
  for (const page of pages) {
    await page.untilBack()
    page.close()
  }
  expect(machinesOf(dataDir)).toEqual([...ids].sort())
}

/** Pages that look at every machine through every gateway, and how long the slowest took to open. */
interface Pages {
  opened: Page[]
  slowestMs: number
}

async function openPages({ proxy, gateways }: Cloud, customer: Customer, ids: string[]): Promise<Pages> {
  const startedAt = performance.now()
  const opened = await Promise.all(
    ids.flatMap(id =>
      gateways.map(({ home }) => openPage(customer, id, { first: home.origin, later: proxy.origin })),
    ),
  )
  return { opened, slowestMs: performance.now() - startedAt }
}

/** A page that lost its shell with a gateway and has it again. */
interface Back {
  /** What the gateway was to it: the one that it was connected to, or the one beyond that reached the engine. */
  lost: 'its gateway' | 'its engine’s gateway'
  afterMs: number
  slowestMs: number
}

async function untilBack({ opened, slowestMs }: Pages, killed: string, killedAt: number): Promise<Back[]> {
  const found = await Promise.all(
    opened.map(async (page): Promise<Back[]> => {
      await page.untilBack()
      const afterMs = Math.round(performance.now() - killedAt)
      const lost = page.first === killed ? 'its gateway' : 'its engine’s gateway'
      return page.breaks() > 0 ? [{ lost, afterMs, slowestMs }] : []
    }),
  )
  return found.flat()
}

function expectInTime(back: Back[]): void {
  for (const lost of ['its gateway', 'its engine’s gateway'] as const) {
    const times = back.filter(one => one.lost === lost)
    process.stdout.write(
      `a terminal that lost ${lost} was back after ${times.map(one => one.afterMs).join(', ')} ms\n`,
    )
    expect(times, lost).not.toHaveLength(0)
    for (const { afterMs, slowestMs } of times) {
      expect(afterMs, lost).toBeLessThan(BACK_MS + SLOWNESS_FACTOR * slowestMs)
    }
  }
}

/** Has a machine serve a page, by its shell. */
async function serve(origin: string, customer: Customer, id: string): Promise<void> {
  const { ticket } = await customer.data(startWebTerminal, { body: { instance_id: id } })
  const terminal = await openTerminal(origin, ticket)
  terminal.type(`${SERVE}\n`)
  await expectService(Number(new URL(origin).port), customer, id)
  terminal.socket.terminate()
}

async function expectService(port: number, customer: Customer, id: string): Promise<void> {
  const { http } = await customer.data(getConnection, { params: { id } })
  const { hostname } = new URL(http[0]?.url ?? '')
  await expect.poll(() => ask(port, hostname), PATIENCE).toContain(SERVED)
}

/** What a service answers, or what went wrong. */
async function ask(port: number, host: string): Promise<string> {
  const request = httpRequest({ host: '127.0.0.1', port, headers: { host: `${host}:${port}` }, agent: false })
  request.end()
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks).toString()
  } catch (error) {
    return String(error)
  }
}

/** A key that was answered is answered the same by every gateway, and does nothing again. */
async function expectReplays(origins: string[], customer: Customer): Promise<void> {
  for (const origin of origins) {
    const again = await customer.at(origin).once(topup, topupInput(5_000), { idempotencyKey: FIRST_KEY })
    expect(again).toMatchObject({ kind: 'answer', replayed: true, envelope: { status: 'ok' } })
  }
}

/** Every key was charged once; the audit finds nothing. */
async function expectBooks(url: string, customer: Customer, settled: Map<string, number>): Promise<void> {
  const books = await readBooksAt(url, customer.userId)
  expect(books.problems).toEqual([])
  expect(books.strayCharges).toBe(0)
  expect(books.topups).toHaveLength(settled.size + 1)
  for (const { state, charges } of books.topups)
    expect({ state, charges }).toEqual({ state: 'succeeded', charges: 1 })
  expect(books.instances).toHaveLength(Object.keys(REGIONS).length)
}
