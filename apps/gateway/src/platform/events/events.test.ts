import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { createTestDatabase, type TestDatabase } from '../../../test/test-database.ts'
import { pretendChange } from '../../../test/test-events.ts'
import type { Transaction } from '../database/database.ts'
import { createJobs } from '../jobs/jobs.ts'
import { defineEvent } from './define-event.ts'
import { createEvents, type EventHandler } from './events.ts'

const happened = defineEvent('thing.happened', z.object({ note: z.string().max(50) }))
type Listen = EventHandler<{ note: string }>

const WAIT = { timeout: 60_000, interval: 20 }

let database: TestDatabase
let stops: (() => Promise<void>)[]
/** What was logged as an error. */
let given: string[]
beforeEach(async () => {
  database = await createTestDatabase()
  await database.db.execute(sql`create table heard (listener text, note text)`)
  stops = []
  given = []
})
afterEach(async () => {
  await Promise.all(stops.map(stop => stop()))
  await database.drop()
})

describe('telling', () => {
  test('tells every listener once what was committed, and nobody what was rolled back', async () => {
    const { tell } = await gateway({ first: write('first'), second: write('second') })
    await expect(
      database.db.transaction(async tx => {
        await tell('undone', tx)
        throw new Error('undone')
      }),
    ).rejects.toThrow('undone')
    await database.db.transaction(tx => tell('done', tx))
    await quiet()
    expect(await heard()).toEqual(['first done', 'second done'])
  })

  test('refuses what is no such event', async () => {
    const { tell } = await gateway({ first: write('first') })
    await expect(tell('x'.repeat(51))).rejects.toThrow()
  })

  test('refuses a transaction that has changed nothing: what is told of would be done in another one', async () => {
    const { events } = await gateway({ first: write('first') })
    const alone = database.db.transaction(tx => events.emit(tx, happened, { note: 'apart' }))
    await expect(alone).rejects.toThrow('thing.happened is told in a transaction that has changed nothing')
    expect(await waiting()).toBe(0)
  })

  test('without a listener is nothing', async () => {
    const { tell } = await gateway({})
    await tell('alone')
    expect(await waiting()).toBe(0)
  })

  test('waits in the database for a gateway that is there', async () => {
    const gone = await gateway({ first: write('first') }, { works: false })
    await gone.tell('before the crash')
    await gateway({ first: write('first') })
    await quiet()
    expect(await heard()).toEqual(['first before the crash'])
  })

  test('many at once by two gateways reach each listener once', async () => {
    const one = await gateway({ first: write('first'), second: write('second') })
    const two = await gateway({ first: write('first'), second: write('second') })
    await Promise.all(Array.from({ length: 30 }, (_, n) => (n % 2 ? one : two).tell(`${n}`)))
    await quiet()
    const all = await heard()
    expect(all).toHaveLength(60)
    expect(new Set(all).size).toBe(60)
  })
})

describe('a listener', () => {
  test('that fails leaves nothing behind, and is tried again', async () => {
    let tries = 0
    const { tell } = await gateway({
      async first(tx, payload) {
        await write('first')(tx, payload)
        tries += 1
        if (tries < 3) throw new Error('not yet')
      },
    })
    await tell('patience')
    await quiet()
    expect(tries).toBe(3)
    expect(await heard()).toEqual(['first patience'])
  })

  test('that fails for ever holds up nobody, and the log names what was given up', async () => {
    const { tell } = await gateway({
      broken: () => Promise.reject(new Error('for ever')),
      sound: write('sound'),
    })
    for (const note of ['one', 'two', 'three']) await tell(note)
    await vi.waitUntil(async () => (await heard()).length === 3, WAIT)
    await vi.waitUntil(() => given.length === 3, WAIT)
    expect(given[0]).toMatch(/"event":"thing.happened".*"listener":"broken".*AN EVENT WAS GIVEN UP/)
    expect(await heard()).toEqual(['sound one', 'sound three', 'sound two'])
  })

  test('that hangs takes no other’s place', async () => {
    let letGo = () => {}
    const hanging = new Promise<void>(resolve => {
      letGo = resolve
    })
    const { tell } = await gateway({ slow: () => hanging, quick: write('quick') })
    const notes = Array.from({ length: 8 }, (_, n) => `${n}`)
    for (const note of notes) await tell(note)
    await vi.waitUntil(async () => (await heard()).length === notes.length, WAIT)
    letGo()
    await quiet()
  })

  test('to which an event was handed twice writes once', async () => {
    // As after a pause of the whole process: the row was given to another gateway, and both are at work.
    let stolen = false
    const { tell } = await gateway({
      async first(tx, payload) {
        await write('first')(tx, payload)
        if (stolen) return
        stolen = true
        await database.db.execute(
          sql`update pgboss.job set state = 'retry', retry_count = retry_count + 1, start_after = now()
              where name = 'event' and state = 'active'`,
        )
      },
    })
    await tell('once')
    await quiet()
    expect(await heard()).toEqual(['first once'])
  })

  test('that comes later hears what is told from then on', async () => {
    const before = await gateway({ first: write('first') })
    await before.tell('early')
    const after = await gateway({ first: write('first'), second: write('second') })
    // The older gateway does not know it, and passes on what it is to hear: no try of it is used up by that.
    const notes = Array.from({ length: 10 }, (_, n) => `late ${n}`)
    for (const note of notes) await after.tell(note)
    await quiet()
    const late = notes.flatMap(note => [`first ${note}`, `second ${note}`])
    expect(await heard()).toEqual(['first early', ...late].toSorted())
    expect(given).toEqual([])
  })

  test('that nobody knows any more fails in the end, and is named', async () => {
    const gone = await gateway({ first: write('first') }, { works: false })
    await gone.tell('left over')
    // As after a minute of gateways that passed it on.
    await database.db.execute(
      sql`update pgboss.job set data = data || '{"passed": 60}' where name = 'event' and data->>'listener' = 'first'`,
    )
    await gateway({})
    await vi.waitUntil(() => given.length > 0, WAIT)
    expect(given[0]).toMatch(/"event":"thing.happened".*"listener":"first".*AN EVENT WAS GIVEN UP/)
  })

  test('is one by its name', async () => {
    const events = createEvents({ ...parts(), jobs: createJobs(parts()) })
    events.on(happened, 'first', write('first'))
    expect(() => events.on(happened, 'first', write('first'))).toThrow('listens to thing.happened twice')
  })
})

/** Listens by writing down what it hears. */
function write(listener: string): Listen {
  return async (tx: Transaction, { note }) => {
    await tx.execute(sql`insert into heard values (${listener}, ${note})`)
  }
}

function parts() {
  const sink = { write: (line: string) => void given.push(line) }
  return { database, db: database.db, log: pino({ level: 'error', base: { run: randomUUID() } }, sink) }
}

/** A gateway that listens; one that does not work has died before it handed anything out. */
async function gateway(listeners: Record<string, Listen>, { works = true, triesMax = 2 } = {}) {
  const jobs = createJobs(parts())
  const events = createEvents({ ...parts(), jobs, retry: { firstSeconds: 1, max: triesMax } })
  for (const [name, listen] of Object.entries(listeners)) events.on(happened, name, listen)
  await (works ? jobs.start() : jobs.open())
  stops.push(jobs.stop)
  async function change(tx: Transaction, note: string): Promise<void> {
    await pretendChange(tx)
    await events.emit(tx, happened, { note })
  }
  return {
    events,
    tell: (note: string, tx?: Transaction) =>
      tx ? change(tx, note) : database.db.transaction(own => change(own, note)),
  }
}

async function heard(): Promise<string[]> {
  const { rows } = await database.db.execute<{ said: string }>(
    sql`select listener || ' ' || note as said from heard order by 1`,
  )
  return rows.map(({ said }) => said)
}

async function waiting(): Promise<number> {
  const { rows } = await database.db.execute<{ n: number }>(
    sql`select count(*)::int as n from pgboss.job where state in ('created', 'active', 'retry')`,
  )
  return rows[0]?.n ?? 0
}

/** Waits until everything was handed out. */
async function quiet(): Promise<void> {
  await vi.waitUntil(async () => (await waiting()) === 0, WAIT)
}
