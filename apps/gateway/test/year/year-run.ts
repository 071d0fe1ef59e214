import { sql } from 'drizzle-orm'
import { type Person, startYear, type World } from './world.ts'
import {
  bind,
  COUPON,
  type Doing,
  deploy,
  makeImage,
  makeVolume,
  payIn,
  REGIONS,
  sendOn,
  YEAR_ACTS,
} from './year-acts.ts'
import { type PlannedAct, planYear } from './year-plan.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
/**
 * Whoever has less pays in, more than a day costs: one customer alone is to run out of money, who has one machine. Where
 * several are stopped at one moment, the order in which that happens decides whose disk takes what is left over.
 */
const LOW_MICRO = 200_000_000n
const PAID_IN_CENTS = 30_000
const FIRST_CENTS = 30_000
/** What the customer has who runs out of it: a day and a half of what they have. */
const POOR_CENTS = 400
/** Then they pay a little, once their address is gone and before all else is. */
const SENT_BYTES = 1_234_567_891
const POOR_LATER = { days: 10, cents: 100 }

export interface Span {
  from: number
  until: number
  customers: number
  /** Of each customer. */
  actsADay: number
  /** The list that holds from a moment on; the first holds from the beginning. */
  priceLists: { from: number; text: string }[]
}

/**
 * Lives a year, or a part of it: random lives of customers, beside one who runs out of money.
 * @returns The world at its end; the caller stops it.
 */
export async function liveThrough(seed: number, span: Span): Promise<World> {
  const [first, ...later] = span.priceLists
  const world = await startYear(span.from, first?.text ?? '')
  try {
    await world.gateway().billing.couponDesk.create({
      ...{ code: COUPON.code, currency: 'USD', amountMicro: BigInt(COUPON.cents) * 10_000n },
      ...{ totalMax: null, perCustomerMax: 100, modelsOnly: false, firstTopupOnly: false },
      ...{ paidMinMicro: 0n, creditDays: COUPON.days, endsAt: null },
    })
    const people = await Promise.all(Array.from({ length: span.customers }, () => world.signUp()))
    const payments = new Map(people.map(({ userId }) => [userId, [] as string[]]))
    const doing = (person: Person, dice: Doing['dice'] = [0, 0, 0]): Doing => ({
      ...{ world, person, dice },
      payments: payments.get(person.userId) ?? [],
    })
    for (const person of people) await payIn(doing(person), FIRST_CENTS)
    const scripted = [...poorLife(doing(await world.signUp())), ...steadyLife(world, await world.signUp())]
    const acts = planYear(seed, span)
    const events = [
      ...acts.map(act => ({ at: act.at, run: () => perform(world, act, people, doing) })),
      ...later.map(({ from, text }) => ({ at: from, run: () => world.changePrices(text) })),
      ...scripted.map(({ after, run }) => ({ at: span.from + after, run })),
    ].toSorted((one, other) => one.at - other.at)
    for (const { at, run } of events) {
      await passTo(world, at, () => payWhereLow(world, people, doing))
      await run()
    }
    await passTo(world, span.until, () => payWhereLow(world, people, doing))
    return world
  } catch (error) {
    await world.stop()
    throw error
  }
}

async function perform(
  world: World,
  { customer, name, dice }: PlannedAct,
  people: Person[],
  doing: (person: Person, dice?: Doing['dice']) => Doing,
): Promise<void> {
  const person = people[customer]
  if (!person) return
  await YEAR_ACTS[name](doing(person, dice))
  await payWhereLow(world, [person], doing)
}

/** Something that is done at a time, so long after the beginning. */
interface Step {
  after: number
  run: () => Promise<unknown>
}

/** Who has a little of everything, and nothing left two days later. */
function poorLife(poor: Doing): Step[] {
  const sized = { region: REGIONS.charges, spec: 'cpu', count: 1, diskGb: 60, podVolumeGb: 0 }
  let id = ''
  return [
    { after: HOUR_MS, run: () => payIn(poor, POOR_CENTS) },
    {
      after: 2 * HOUR_MS + 345,
      run: async () => {
        id = (await deploy(poor, sized, null)) ?? ''
      },
    },
    { after: 3 * HOUR_MS, run: () => makeVolume(poor, 90) },
    { after: 4 * HOUR_MS + 789, run: () => makeImage(poor, id) },
    { after: 5 * HOUR_MS, run: () => bind(poor, { region_code: sized.region, instance_id: id }) },
    { after: 6 * HOUR_MS, run: () => sendOn(poor, id, SENT_BYTES) },
    { after: POOR_LATER.days * DAY_MS + 1, run: () => payIn(poor, POOR_LATER.cents) },
  ]
}

/** Who does what random lives of a few weeks may not do: each way of paying, one after the other. */
function steadyLife(world: World, person: Person): Step[] {
  const steady = { world, person, payments: [] }
  const doing = (dice: Doing['dice'] = [0, 0, 0]): Doing => ({ ...steady, dice })
  const sized = { region: REGIONS.free, spec: 'l4', count: 1, diskGb: 133, podVolumeGb: 7 }
  const { credits, stop, start, subscribe, convert, remove } = YEAR_ACTS
  return [
    { after: HOUR_MS, run: () => payIn(doing(), FIRST_CENTS) },
    // Some of which end before they are used, and some that have no end.
    { after: HOUR_MS + 1, run: () => credits(doing([0.9, 0.9, 0.02])) },
    { after: HOUR_MS + 2, run: () => credits(doing([0.5, 0, 0])) },
    { after: 2 * HOUR_MS + 17, run: () => deploy(doing(), sized, null) },
    { after: 3 * DAY_MS + 123_456, run: () => stop(doing()) },
    { after: 5 * DAY_MS + 234_567, run: () => start(doing()) },
    { after: 6 * DAY_MS + 345_678, run: () => subscribe(doing([0, 0, 0])) },
    { after: 10 * DAY_MS + 456_789, run: () => convert(doing([0, 0, 0])) },
    { after: 11 * DAY_MS + 567_891, run: () => remove(doing()) },
    { after: 11 * DAY_MS + HOUR_MS, run: () => payIn(doing(), FIRST_CENTS) },
    {
      after: 11 * DAY_MS + 2 * HOUR_MS,
      run: () => deploy(doing(), { ...sized, spec: 'cpu' }, { cycle: 'monthly', renews: false }),
    },
  ]
}

/** Goes on, with a stop at each midnight of UTC and at each end of a term; then customers pay in who have to. */
async function passTo(world: World, at: number, payWhereLow: () => Promise<void>): Promise<void> {
  while (world.now() < at) {
    const midnight = (Math.floor(world.now() / DAY_MS) + 1) * DAY_MS
    const termEnd = await nextTermEnd(world)
    const next = Math.min(at, midnight, termEnd ?? at)
    await world.goOn(next)
    if (next === midnight || next === termEnd) await payWhereLow()
  }
}

async function nextTermEnd(world: World): Promise<number | null> {
  const { rows } = await world.db.execute<{ at: string | null }>(sql`
    select (extract(epoch from min(expiry_time)) * 1000)::bigint::text as at from instance
    where terminated_at is null and expiry_time > ${new Date(world.now()).toISOString()}::timestamptz`)
  const at = rows[0]?.at
  return at === null || at === undefined ? null : Number(at)
}

async function payWhereLow(world: World, people: Person[], doing: (person: Person) => Doing): Promise<void> {
  for (const person of people) {
    const { availableMicro } = await world.gateway().billing.totals(world.db, person.userId)
    if (availableMicro < LOW_MICRO) await payIn(doing(person), PAID_IN_CENTS)
  }
}
