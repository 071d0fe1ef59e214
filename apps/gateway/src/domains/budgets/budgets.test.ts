import type { AddBudgetBody } from '@berth/contract/budgets'
import { BUDGETS_PER_USER_MAX } from '@berth/contract/limits'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accountDeleted } from '../identity/events.ts'
import {
  createInstancesFixture,
  deployBody,
  type InstancesFixture,
  startWanted,
} from '../instances/instances-fixture.ts'
import { budgetCrossed } from './events.ts'
import { periodAt } from './periods.ts'
import { budgetCrossing } from './tables.ts'

/** What a CPU machine costs in an hour, in micro-units: 8 cents. */
const HOUR = 80_000n
const HOUR_SECONDS = 3_600
const DAY_SECONDS = 86_400

let fixture: InstancesFixture
beforeAll(async () => {
  fixture = await createInstancesFixture()
  await fixture.instances.reconciler.start()
})
afterAll(() => fixture.close())

const budgets = () => fixture.budgetsAt(fixture.instances)

const add = (userId: string, body: Partial<AddBudgetBody> = {}) =>
  budgets().add(userId, { instance_id: null, key_id: null, period: 'day', amount: 80, stops: true, ...body })

/** Shares that a customer was told of, oldest first. */
const told = (userId: string) =>
  fixture.events.told
    .filter(({ event }) => event === budgetCrossed.name)
    .map(({ payload }) => budgetCrossed.payload.parse(payload))
    .filter(payload => payload.userId === userId)
    .map(({ share }) => share)

/** Time in which what runs is seen to run, and all budgets are looked at after it. */
async function pass(seconds: number): Promise<void> {
  fixture.clock.advance(seconds)
  await budgets().look()
}

/** To the first second of the next day of UTC. */
const toNextDay = () => {
  const now = fixture.clock.now()
  return (periodAt('day', now).until.getTime() - now.getTime()) / 1_000
}

describe('[B16] a budget of the account', () => {
  test('warns at 50, 80 and 100 % once each, then stops what runs on demand, and lets nothing begin', async () => {
    await pass(toNextDay())
    const userId = await fixture.payer()
    const id = await fixture.running(userId)
    const ahead = await fixture.running(userId, { billing_type: 'prepay', charge_cycle: 'weekly' })
    const [{ spent_micro: paid = '0' } = {}] = [await add(userId, { amount: 1_000_000 })]
    // The term was paid in advance, and is part of what was spent.
    expect(BigInt(paid)).toBeGreaterThan(0n)
    const [listed] = await budgets().list(userId)
    const paidCents = Number((BigInt(paid) + 9_999n) / 10_000n)
    const amount = paidCents * 2
    await budgets().edit(userId, listed?.id ?? '', { period: 'day', amount, stops: true })
    await budgets().look()
    expect(told(userId)).toEqual([50])
    await budgets().look()
    expect(told(userId)).toEqual([50])

    const secondsOf = (share: number) =>
      Number((((BigInt(amount) * 10_000n * BigInt(share)) / 100n - BigInt(paid)) * 3_600n) / HOUR)
    // Within the day nothing of this is reached by the machine alone: the budget is cut to what is left.
    const leftCents = paidCents + 20
    await budgets().edit(userId, listed?.id ?? '', { period: 'day', amount: leftCents, stops: true })
    expect(secondsOf(100)).toBeGreaterThan(DAY_SECONDS)
    await pass(HOUR_SECONDS)
    expect(told(userId)).toEqual([50, 80])
    expect((await fixture.row(id)).status).toBe('running')
    await pass(2 * HOUR_SECONDS)
    expect(told(userId)).toEqual([50, 80, 100])
    expect(await fixture.until(id, 'stopped')).toMatchObject({ reasonCode: 'budget_reached' })
    expect(await fixture.eventCodes(userId, id)).toContain('stopped_at_budget')
    expect(fixture.troubles(userId)).toMatchObject([{ cause: 'budget_reached', instances: [{ id }] }])
    expect((await fixture.row(ahead)).status).toBe('running')
    await fixture.expectSound(id)

    const start = () => fixture.instances.start({ userId, instanceId: id }, startWanted())
    await expect(start()).rejects.toMatchObject({ code: 'budget_reached' })
    await expect(fixture.deploy(userId)).rejects.toMatchObject({ code: 'budget_reached' })
    expect(await budgets().hasRoom(userId)).toBe(false)

    await budgets().edit(userId, listed?.id ?? '', { period: 'day', amount: leftCents * 10, stops: true })
    expect(await budgets().hasRoom(userId)).toBe(true)
    await start()
    await fixture.until(id, 'running')
    await budgets().look()
    // 100 % lies ahead again, and 50 % too: nothing was passed by the new amount.
    expect(told(userId)).toEqual([50, 80, 100])
  })

  test('that only warns stops nothing, and begins anew with its day', async () => {
    await pass(toNextDay())
    const userId = await fixture.payer()
    const id = await fixture.running(userId)
    await add(userId, { amount: 8, stops: false })
    await pass(2 * HOUR_SECONDS)
    expect(told(userId)).toEqual([100])
    expect((await fixture.row(id)).status).toBe('running')
    await fixture.deploy(userId)

    await pass(toNextDay())
    expect(told(userId)).toEqual([100])
    const [anew] = await budgets().list(userId)
    expect(BigInt(anew?.spent_micro ?? 0)).toBeLessThan(10_000n)
    await pass(HOUR_SECONDS)
    expect(told(userId).slice(0, 2)).toEqual([100, 100])
    // Of days that are over nothing is kept.
    const rows = await fixture.db.select().from(budgetCrossing)
    const ofBudget = rows.filter(({ budgetId }) => budgetId === anew?.id)
    expect(new Set(ofBudget.map(({ since }) => since.toISOString())).size).toBe(1)
  })

  test('that is raised is told anew at the 50, 80 and 100 % of its new amount', async () => {
    await pass(toNextDay())
    const userId = await fixture.payer()
    await fixture.running(userId)
    const { id } = await add(userId, { amount: 8, stops: false })
    await pass(HOUR_SECONDS)
    expect(told(userId)).toEqual([100])
    // 8 cents of 40: all shares lie ahead again.
    await budgets().edit(userId, id, { period: 'day', amount: 40, stops: false })
    await budgets().look()
    expect(told(userId)).toEqual([100])
    const anew: number[][] = []
    for (let hour = 1; hour <= 5; hour += 1) {
      await pass(HOUR_SECONDS)
      anew.push(told(userId).slice(1))
    }
    expect(anew).toEqual([[], [50], [50, 80], [50, 80, 100], [50, 80, 100]])
  })

  test('is told once, however many gateways look at the same moment', async () => {
    const userId = await fixture.payer()
    await fixture.running(userId)
    const other = fixture.budgetsAt(await fixture.gateway())
    await add(userId, { amount: 4, stops: false })
    fixture.clock.advance(HOUR_SECONDS)
    await Promise.all([budgets().look(), other.look(), budgets().look(), other.look()])
    expect(told(userId)).toEqual([100])
  })

  test('says of each day what bills say of it, posted or not', async () => {
    await pass(toNextDay())
    const userId = await fixture.payer()
    await fixture.running(userId)
    await add(userId, { amount: 100_000, period: 'month', stops: false })
    await add(userId, { amount: 100_000, stops: false })
    const same = async () => {
      const spend = await fixture.billing.spend(userId, 1)
      const [month, day] = await budgets().list(userId)
      expect(day?.spent_micro).toBe(spend.days[0]?.amount_micro)
      return [month?.spent_micro, day?.spent_micro]
    }
    await pass(20_000)
    const [before] = await same()
    await fixture.post()
    expect((await same())[0]).toBe(before)
    // Over midnight with nothing posted, and then with all of it.
    fixture.clock.advance(toNextDay() + 5_000)
    const unposted = await same()
    await fixture.post()
    expect(await same()).toEqual(unposted)
    expect(BigInt(unposted[0] ?? 0)).toBeGreaterThan(BigInt(unposted[1] ?? 0))
  })
})

describe('[B16] a budget of an instance', () => {
  test('stops that one alone, does not let it start, and is gone when it is', async () => {
    await pass(toNextDay())
    const userId = await fixture.payer()
    const [id, other] = [await fixture.running(userId), await fixture.running(userId)]
    const { id: budgetId } = await add(userId, { instance_id: id, amount: 8 })
    expect(await budgets().list(userId)).toMatchObject([
      { instance_id: id, instance_name: deployBody().name },
    ])
    await pass(HOUR_SECONDS / 2)
    const cost = (await fixture.billing.costMicro(fixture.db, 'instance', [id])).get(id) ?? 0n
    expect(cost).toBeGreaterThan(0n)
    expect(await budgets().list(userId)).toMatchObject([{ spent_micro: `${cost}` }])
    await pass(HOUR_SECONDS / 2)
    expect(await fixture.until(id, 'stopped')).toMatchObject({ reasonCode: 'budget_reached' })
    expect((await fixture.row(other)).status).toBe('running')
    const start = () => fixture.instances.start({ userId, instanceId: id }, startWanted())
    await expect(start()).rejects.toMatchObject({ code: 'budget_reached' })
    // What it does not cover is deployed.
    await fixture.deploy(userId)
    // Its next day lets it start.
    await pass(toNextDay())
    await start()
    await fixture.until(id, 'running')

    await fixture.instances.terminate({ userId, instanceId: id })
    await fixture.until(id, 'terminated')
    expect(await budgets().list(userId)).toEqual([])
    await budgets().look()
    await expect(budgets().remove(userId, budgetId)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('that was raised while it was looked at keeps it running', async () => {
    await pass(toNextDay())
    const userId = await fixture.payer()
    const id = await fixture.running(userId)
    const { id: budgetId } = await add(userId, { instance_id: id, amount: 8 })
    fixture.clock.advance(HOUR_SECONDS)
    await budgets().edit(userId, budgetId, { period: 'day', amount: 80, stops: true })
    expect(await fixture.instances.stopForBudget(userId)).toEqual([])
    expect((await fixture.row(id)).status).toBe('running')
  })

  test('keeps nobody else from being looked at when its own fails', async () => {
    await pass(toNextDay())
    const [broken, sound] = [await fixture.payer(), await fixture.payer()]
    await fixture.running(broken)
    await fixture.running(sound)
    await add(broken, { amount: 8 })
    await add(sound, { amount: 8, stops: false })
    const { emit } = fixture.events
    fixture.events.emit = async (tx, event, payload) => {
      if ((payload as { userId?: string }).userId === broken) throw new Error('no event for this one')
      await emit(tx, event, payload)
    }
    await pass(HOUR_SECONDS)
    fixture.events.emit = emit
    expect(told(sound)).toEqual([100])
    expect(told(broken)).toEqual([])
    await budgets().look()
    expect(told(broken)).toEqual([100])
  })
})

describe('[B16] budgets', () => {
  test('are one by day and one by month for each thing, and no more than so many', async () => {
    const userId = await fixture.payer()
    const first = await add(userId)
    await expect(add(userId)).rejects.toMatchObject({ code: 'budget_exists' })
    await add(userId, { period: 'month' })
    const hasty = await fixture.payer()
    const tries = await Promise.allSettled(Array.from({ length: 8 }, () => add(hasty)))
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const refused = tries.filter(one => one.status === 'rejected').map(({ reason }) => reason)
    expect(refused).toMatchObject(Array.from({ length: 7 }, () => ({ code: 'budget_exists' })))
    const change = { period: 'month', amount: 1, stops: false } as const
    await expect(budgets().edit(userId, first.id, change)).rejects.toMatchObject({ code: 'budget_exists' })
    for (let made = 2; made < BUDGETS_PER_USER_MAX; made += 2) {
      const instance_id = await fixture.deploy(userId)
      await add(userId, { instance_id })
      await add(userId, { instance_id, period: 'month' })
    }
    const instance_id = await fixture.deploy(userId)
    await expect(add(userId, { instance_id })).rejects.toMatchObject({
      code: 'budget_limit',
      values: { limit: BUDGETS_PER_USER_MAX },
    })
  })

  test('[R6.4] are of nobody else’s instance, changed by nobody else, and go with the account', async () => {
    const [owner, other] = [await fixture.payer(), await fixture.payer()]
    const instance_id = await fixture.deploy(owner)
    await expect(add(other, { instance_id })).rejects.toMatchObject({ code: 'not_found' })
    const { id } = await add(owner, { instance_id })
    const change = { period: 'day', amount: 1, stops: false } as const
    await expect(budgets().edit(other, id, change)).rejects.toMatchObject({ code: 'not_found' })
    await expect(budgets().remove(other, id)).rejects.toMatchObject({ code: 'not_found' })
    await fixture.events.hear(accountDeleted, {
      userId: owner,
      at: fixture.clock.now().toISOString(),
    } as never)
    await expect(budgets().remove(owner, id)).rejects.toMatchObject({ code: 'not_found' })
  })
})
