import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getBalance } from '@berth/contract/billing'
import type { Call, CallData, CallInput } from '@berth/contract/call'
import { sql } from 'drizzle-orm'
import { createFakeEngine } from '../../src/drivers/compute/fake/fake-engine.ts'
import { loadCatalogue } from '../../src/platform/config/catalogue.ts'
import { createIds } from '../../src/platform/ids.ts'
import { sendCall, startGateway, type TestGateway } from '../start-gateway.ts'
import { createTestImageStore } from '../test-image-store.ts'
import type { Deed, Entry } from './log.ts'
import type { Balance } from './reckoning.ts'

/** More than all machines of a year take. */
const SIZE = { cpu_count: 1e6, memory_mb: 1e9, disk_gb: 1e7, gpus: [] }
/** Not as often by itself as a look of the test's. */
const NEVER_MS = 2 ** 30
const POLL_MS = 4
const QUIET_MS = 120_000
/** A sign-in is recent for less than that. */
const SIGNED_IN_MS = 240_000

/** A customer of the year. */
export interface Person {
  userId: string
  token: string
  signedInAt: number
}

/**
 * Starts a gateway whose time stands still until it is set, with a log of all that is done there.
 * @param from When it begins.
 * @param priceList The text of its catalogue.
 */
export async function startYear(from: number, priceList: string) {
  let now = from
  const clock = { now: () => new Date(now) }
  const folder = mkdtempSync(join(tmpdir(), 'year-of-billing-'))
  const images = createTestImageStore()
  const compute = createFakeEngine({ clock, size: SIZE })
  const common = { clock, ids: createIds(clock), compute, imageStore: images.store, meteringMs: NEVER_MS }
  const log: Entry[] = [{ at: now, kind: 'prices', text: priceList }]
  const people: Person[] = []
  const balances = new Map<string, Map<string, Balance>>()
  /** What the balance call said when months began: what is available and what is set aside, in cents. */
  const shown = new Map<string, Map<string, number[]>>()
  /** What counters of machines stand at, by their instances. */
  const counters = new Map<string, number>()
  const gatewayId = randomUUID()
  const first = await startGateway({ ...common, gatewayId, catalogue: catalogueOf(priceList) })
  let current: TestGateway = first
  let month = new Date(from).toISOString().slice(0, 7)

  function catalogueOf(text: string) {
    const file = join(folder, `${randomUUID()}.yaml`)
    writeFileSync(file, text)
    return loadCatalogue(file)
  }

  /** Until nothing of any instance, volume or image is under way at this moment. */
  async function settled(): Promise<void> {
    const { db } = first.database
    const deadline = performance.now() + QUIET_MS
    for (;;) {
      const { rows } = await db.execute<{ id: string }>(sql`
        select id from instance where terminated_at is null
          and (lease_owner is not null or next_attempt_at <= ${clock.now().toISOString()}::timestamptz)
        union all select id from volume where deleted_at is null and status in ('creating', 'growing', 'deleting')
        union all select id from own_image where deleted_at is null and status in ('building', 'deleting')`)
      if (rows.length === 0) return
      if (performance.now() > deadline) throw new Error(`it does not settle: ${JSON.stringify(rows)}`)
      for (const { id } of rows) if (id.startsWith('i-')) current.gateway.instances.reconciler.kick(id)
      await new Promise(resolve => setTimeout(resolve, POLL_MS))
    }
  }

  /** Makes the gateway's rounds, each once. */
  async function look(): Promise<void> {
    const { billing, instances, volumes, images } = current.gateway
    const { signal } = new AbortController()
    const { exhausted } = await billing.postDue()
    for (const userId of exhausted) {
      await instances.stopForEmptyBalance(userId)
      await volumes.noteEmptyBalance(userId)
      await images.noteEmptyBalance(userId)
    }
    await settled()
    await instances.chargeTraffic()
    await volumes.run(signal)
    await images.run(signal)
    await instances.lookAtUnpaid()
    await settled()
    log.push({ at: now, kind: 'look' })
    const thisMonth = clock.now().toISOString().slice(0, 7)
    if (thisMonth !== month) {
      process.stdout.write(`${thisMonth} begins.\n`)
      await beginMonth(thisMonth)
    }
    month = thisMonth
  }

  async function beginMonth(name: string): Promise<void> {
    const { billing } = current.gateway
    await billing.invoices.makeDue()
    for (const person of people) {
      const { userId } = person
      const { cashMicro, creditsMicro, heldMicro } = await billing.totals(first.database.db, userId)
      const own = balances.get(userId) ?? new Map<string, Balance>()
      balances.set(userId, own)
      own.set(name, { cash: cashMicro, credits: creditsMicro, held: heldMicro })
      const said = await ask(person, getBalance, {})
      const { amount_available = -1, amount_freeze = -1 } = said?.account_balance ?? {}
      shown.set(userId, (shown.get(userId) ?? new Map()).set(name, [amount_available, amount_freeze]))
    }
  }

  async function ask<C extends Call>(
    person: Person,
    call: C,
    input: CallInput<C>,
  ): Promise<CallData<C> | null> {
    await signIn(person)
    const { envelope } = await sendCall(current.origin, call, input as object, { token: person.token })
    if (envelope.status === 'ok') return envelope.data
    if (envelope.code === 'internal') throw new Error(`${call.operation}: internal`)
    return null
  }

  async function signIn(person: Person): Promise<void> {
    if (now - person.signedInAt < SIGNED_IN_MS && person.token !== '') return
    const { identity } = current.gateway
    const link = await identity.createSignInLink(person.userId)
    person.token = await identity.signInByLink(link, { address: '127.0.0.1', userAgent: 'year', stay: true })
    person.signedInAt = now
  }

  return {
    ...{ log, people, balances, shown, counters },
    now: () => now,
    gateway: () => current.gateway,
    db: first.database.db,

    async signUp(): Promise<Person> {
      const { userId, token } = await current.signUp()
      const person = { userId, token, signedInAt: now }
      people.push(person)
      return person
    },

    /** Goes on to a moment, and lets the gateway do what is due then. */
    async goOn(to: number): Promise<void> {
      now = to
      await look()
    },

    /** Makes a call as a customer. @returns Its data; null where it was refused. */
    ask,

    /** Notes what was done, once all that follows from it has happened. */
    async note(deed: Deed): Promise<void> {
      await settled()
      log.push({ at: now, ...deed })
    },

    /** The gateway is started again with another price list, on the same machines and the same database. */
    async changePrices(text: string): Promise<void> {
      await current.gateway.stopRequests()
      await current.gateway.stopLoops()
      await current.gateway.fleet.stop()
      const database = { ...first.database, close: async () => {} }
      current = await startGateway({
        ...{ ...common, database, gatewayId: randomUUID(), formerGatewayId: gatewayId },
        catalogue: catalogueOf(text),
      })
      log.push({ at: now, kind: 'prices', text })
    },

    async stop(): Promise<void> {
      await current.stop()
      if (current !== first) await first.stop().catch(() => {})
      await images.remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
export type World = Awaited<ReturnType<typeof startYear>>
