import { randomUUID } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PATIENCE_MS } from '../../../../../../scripts/test/patience-ms.ts'
import type { Database } from '../../../platform/database/database.ts'
import { accountDeleted } from '../../identity/events.ts'
import { resumeNews } from '../events.ts'
import { createInstancesFixture, type InstancesFixture, startWanted } from '../instances-fixture.ts'
import { instance, resumeDefault } from '../tables.ts'
import { RESUME_PAUSES_MINUTES } from './resume-rules.ts'

/** A CPU machine costs 8 cents an hour. */
const HOUR_SECONDS = 3_600
const DAY_SECONDS = 86_400

let fixture: InstancesFixture
beforeAll(async () => {
  fixture = await createInstancesFixture()
  await fixture.instances.reconciler.start()
})
afterAll(() => fixture.close())

/** A customer whose instances have stopped because nothing is left, the first of them first. */
async function emptied(count = 1, ask = true): Promise<{ userId: string; ids: string[] }> {
  const userId = await fixture.payer(8 * count)
  if (ask) await fixture.instances.setResume(userId, { byDefault: true, all: false })
  const ids: string[] = []
  for (let one = 0; one < count; one += 1) ids.push(await fixture.running(userId))
  fixture.clock.advance(HOUR_SECONDS + 1)
  await fixture.instances.stopForEmptyBalance(userId)
  for (const id of ids) await fixture.until(id, 'stopped')
  return { userId, ids: await fixture.instances.resume(userId).then(orderOf) }
}

const orderOf = ({ stopped }: { stopped: { instance_id: string }[] }) =>
  stopped.map(({ instance_id }) => instance_id)

/** Money of whatever kind. */
const give = (userId: string, cents: number) => {
  const grant = { id: randomUUID(), userId, kind: 'demo', reason: 'demo' } as const
  return fixture.db.transaction(tx =>
    fixture.billing.grantCredit(tx, { ...grant, amountMicro: BigInt(cents) * 10_000n }),
  )
}

const news = (userId: string) =>
  fixture.events.told
    .filter(({ event }) => event === resumeNews.name)
    .map(({ payload }) => resumeNews.payload.parse(payload))
    .filter(payload => payload.userId === userId)
    .map(({ news: what, failure }) => (failure ? `${what} ${failure.code}` : what))

/** How many wait for a lock that somebody else has. */
async function waiting(db: Database): Promise<number> {
  const { rows } = await db.execute(
    sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows.length
}

describe('[B4] an instance that stopped for an empty balance', () => {
  test('starts again by itself once money covers it, and says so', async () => {
    const { userId, ids } = await emptied()
    const [id = ''] = ids
    // Without more money there is nothing to look at, however often it is looked.
    expect(await fixture.instances.resumeStopped()).toEqual([])
    await give(userId, 7)
    expect(await fixture.instances.resumeStopped()).not.toContain(id)
    expect(await fixture.row(id)).toMatchObject({ status: 'stopped', resumeTry: null })
    await give(userId, 1)
    expect(await fixture.instances.resumeStopped()).toEqual([id])
    await fixture.until(id, 'running')
    expect(await fixture.eventCodes(userId, id)).toContain('started_after_topup')
    expect(news(userId)).toEqual(['started'])
    await fixture.expectSound(id)
    expect((await fixture.instances.resume(userId)).stopped).toEqual([])
  })

  test('does not unless its customer asked for it, and can be started by hand', async () => {
    const { userId, ids } = await emptied(1, false)
    const [id = ''] = ids
    await give(userId, 100)
    expect(await fixture.instances.resumeStopped()).toEqual([])
    expect((await fixture.instances.resume(userId)).stopped).toMatchObject([
      { instance_id: id, resumes: false, covered: true, ready: true, reserve_cents: 8 },
    ])
    await fixture.instances.start({ userId, instanceId: id }, startWanted())
    await fixture.until(id, 'running')
    expect((await fixture.instances.resume(userId)).stopped).toEqual([])
  })

  test('starts in the order of stopping, as far as the money goes, and two gateways start it once', async () => {
    const { userId, ids } = await emptied(3)
    const other = await fixture.gateway()
    await give(userId, 17)
    expect((await fixture.instances.resume(userId)).stopped.map(({ covered }) => covered)).toEqual([
      true,
      true,
      false,
    ])
    const both = await Promise.all([fixture.instances.resumeStopped(), other.resumeStopped()])
    expect(both.flat().toSorted()).toEqual(ids.slice(0, 2).toSorted())
    for (const id of ids.slice(0, 2)) await fixture.until(id, 'running')
    const [, , last = ''] = ids
    expect(await fixture.row(last)).toMatchObject({ status: 'stopped', resumeTry: null })
    expect(news(userId)).toEqual(['started', 'started'])
  })

  test('is left alone by money that was there before', async () => {
    const userId = await fixture.payer(24)
    await fixture.instances.setResume(userId, { byDefault: true, all: false })
    const spent = await fixture.running(userId)
    fixture.clock.advance(2 * HOUR_SECONDS)
    const kept = await fixture.running(userId)
    fixture.clock.advance(60)
    await fixture.instances.stopForEmptyBalance(userId)
    await fixture.until(spent, 'stopped')
    await fixture.instances.stop({ userId, instanceId: kept })
    await fixture.until(kept, 'stopped')
    expect(await fixture.instances.resumeStopped()).toEqual([])
    expect(orderOf(await fixture.instances.resume(userId))).toEqual([spent])
  })

  test('is not started where its customer took it in hand meanwhile', async () => {
    const { userId, ids } = await emptied(3)
    const [off = '', gone = '', late = ''] = ids
    await fixture.instances.edit({ userId, instanceId: off }, { resumeAfterTopup: false })
    await fixture.instances.terminate({ userId, instanceId: gone })
    await fixture.instances.edit(
      { userId, instanceId: late },
      { stopAt: new Date(fixture.clock.now().getTime() + 60_000) },
    )
    fixture.clock.advance(61)
    await give(userId, 1_000)
    expect(await fixture.instances.resumeStopped()).toEqual([])
    expect((await fixture.instances.resume(userId)).stopped.map(({ resumes }) => resumes)).toEqual([
      false,
      false,
    ])
    // One that its customer starts and stops has not stopped for the balance.
    await fixture.instances.start({ userId, instanceId: off }, startWanted())
    await fixture.until(off, 'running')
    await fixture.instances.edit({ userId, instanceId: off }, { resumeAfterTopup: true })
    await fixture.instances.stop({ userId, instanceId: off })
    await fixture.until(off, 'stopped')
    await give(userId, 1_000)
    expect(await fixture.instances.resumeStopped()).toEqual([])
  })

  test('is not started where its customer says so while it is about to be', async () => {
    const { userId, ids } = await emptied()
    const [id = ''] = ids
    await give(userId, 100)
    const { looking } = await fixture.db.transaction(async tx => {
      await fixture.billing.lockWallet(tx, userId)
      const under = fixture.instances.resumeStopped()
      await expect.poll(() => waiting(fixture.db), { timeout: PATIENCE_MS }).toBeGreaterThan(0)
      await tx.update(instance).set({ resumeAfterTopup: false }).where(eq(instance.id, id))
      return { looking: under }
    })
    expect(await looking).toEqual([])
    expect(await fixture.row(id)).toMatchObject({ status: 'stopped', desired: 'stopped', resumeTry: null })
    expect(news(userId)).toEqual([])
  })

  test('that cannot be started is told of, holds up no other, and is tried a bounded number of times', async () => {
    const { userId, ids } = await emptied(2)
    const [stuck = '', well = ''] = ids
    await fixture.instances.edit({ userId, instanceId: stuck }, { spendLimitCents: 9 })
    // By now its disk and its hour have cost what it may cost.
    await fixture.db.execute(`update instance set spend_limit_cents = 1 where id = '${stuck}'`)
    await give(userId, 1_000)
    expect(await fixture.instances.resumeStopped()).toEqual([well])
    expect(news(userId).toSorted()).toEqual(['failed spend_limit_reached', 'started'])
    // Not before its time, and told of once.
    expect(await fixture.instances.resumeStopped()).toEqual([])
    expect((await fixture.row(stuck)).resumeTry).toMatchObject({ attempts: 1 })
    for (const pause of RESUME_PAUSES_MINUTES) {
      fixture.clock.advance(pause * 60)
      await fixture.instances.resumeStopped()
    }
    expect((await fixture.row(stuck)).resumeTry).toMatchObject({
      attempts: RESUME_PAUSES_MINUTES.length + 1,
      next_at: null,
    })
    fixture.clock.advance(24 * HOUR_SECONDS)
    await fixture.instances.resumeStopped()
    expect(news(userId).toSorted()).toEqual([
      'failed spend_limit_reached',
      'given_up spend_limit_reached',
      'started',
    ])
    expect((await fixture.instances.resume(userId)).stopped).toMatchObject([
      { instance_id: stuck, resumes: false, failure: { code: 'spend_limit_reached' }, next_try_at: null },
    ])
    // More money begins anew, and by then it may.
    await fixture.instances.edit({ userId, instanceId: stuck }, { spendLimitCents: null })
    expect(await fixture.instances.resumeStopped()).toEqual([])
    fixture.clock.advance(1)
    await give(userId, 1_000)
    expect(await fixture.instances.resumeStopped()).toEqual([stuck])
  })

  test('is left to a customer who edits it while it is tried', async () => {
    const { userId, ids } = await emptied()
    const [id = ''] = ids
    await fixture.db.execute(`update instance set spend_limit_cents = 1 where id = '${id}'`)
    await give(userId, 1_000)
    await fixture.instances.resumeStopped()
    await fixture.instances.edit({ userId, instanceId: id }, { spendLimitCents: null, name: 'mine' })
    fixture.clock.advance(24 * HOUR_SECONDS)
    expect(await fixture.instances.resumeStopped()).toEqual([])
  })
})

describe('[B4] what starts again', () => {
  test('is said for new instances, and for all that are there', async () => {
    const userId = await fixture.payer()
    const before = await fixture.deploy(userId)
    expect(await fixture.instances.resume(userId)).toMatchObject({
      by_default: false,
      asked: 0,
      instances: 1,
    })
    await fixture.instances.setResume(userId, { byDefault: true, all: false })
    const after = await fixture.deploy(userId)
    expect((await fixture.row(before)).resumeAfterTopup).toBe(false)
    expect((await fixture.row(after)).resumeAfterTopup).toBe(true)
    const all = await fixture.instances.setResume(userId, { byDefault: true, all: true })
    expect(all).toMatchObject({ by_default: true, asked: 2, instances: 2 })
    expect((await fixture.row(before)).resumeAfterTopup).toBe(true)
    await fixture.instances.setResume(userId, { byDefault: false, all: true })
    expect((await fixture.row(after)).resumeAfterTopup).toBe(false)
  })

  test('is nobody else’s, and is forgotten with the account', async () => {
    const [userId, other] = [await fixture.payer(), await fixture.payer()]
    await fixture.instances.setResume(userId, { byDefault: true, all: true })
    const id = await fixture.deploy(other)
    expect((await fixture.row(id)).resumeAfterTopup).toBe(false)
    await fixture.events.hear(accountDeleted, { userId })
    const kept = await fixture.db.select().from(resumeDefault).where(eq(resumeDefault.userId, userId))
    expect(kept).toEqual([])
  })

  test.each([
    ['for want of money is among what stopped', { cents: 1_300, body: {}, isListed: true }],
    ['for its limit is not', { cents: 10_000, body: { spend_limit_cents: 2_000 }, isListed: false }],
  ])('a term that was not renewed %s', async (_what, { cents, body, isListed }) => {
    const userId = await fixture.payer(cents)
    await fixture.instances.setResume(userId, { byDefault: true, all: false })
    const id = await fixture.running(userId, { billing_type: 'prepay', charge_cycle: 'weekly', ...body })
    fixture.clock.advance(4 * DAY_SECONDS)
    await fixture.until(id, ({ termNoticeDay }) => termNoticeDay === 3)
    fixture.clock.advance(3 * DAY_SECONDS)
    await fixture.until(id, 'stopped')
    expect(orderOf(await fixture.instances.resume(userId))).toEqual(isListed ? [id] : [])
    expect(await fixture.instances.resumeStopped()).toEqual([])
    await give(userId, 1_000)
    expect(await fixture.instances.resumeStopped()).toEqual(isListed ? [id] : [])
    if (isListed) await fixture.until(id, 'running')
    await fixture.expectSound(id)
  })
})
