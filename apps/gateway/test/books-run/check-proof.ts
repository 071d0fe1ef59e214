import { type SQL, sql } from 'drizzle-orm'
import type { FakeEngine } from '../../src/drivers/compute/fake/fake-engine.ts'
import type { Database, Transaction } from '../../src/platform/database/database.ts'
import { allowLonger } from '../../src/platform/database/open-database.ts'

type Queryable = Pick<Transaction, 'execute'>

/*
 * What must be true at the end of a run, reckoned from the rows alone: nothing here asks the product's own code or SQL
 * what ought to be there.
 */

/** A long run leaves millions of rows, and each is read. */
const STATEMENT_MS_MAX = 600_000
/** A day's milliseconds: every rate is so many micro-units in so many seconds, and no rate is for longer than a day. */
const PARTS_PER_MICRO = 86_400_000n

interface Transfer extends Record<string, unknown> {
  from_account: string
  to_account: string
  micro: string
  kind: string
  ref_id: string
  user_id: string
}

interface Stretch extends Record<string, unknown> {
  id: string
  user_id: string
  subject_kind: string
  subject_id: string
  charge: string
  rate_micro: string
  rate_seconds: number
  started: number
  ended: number | null
  /** Up to when it is posted. */
  posted: number
  carried: string
  rest: string
}

/**
 * Checks the books, the platform's records, machines, coupons and credits against each other.
 * @returns What is wrong, in sentences.
 */
export async function checkProof(database: Database, engine: FakeEngine): Promise<string[]> {
  // In one snapshot: what runs goes on being posted.
  const check = async (db: Transaction) => {
    await allowLonger(db, STATEMENT_MS_MAX)
    return await checkAll(db, engine)
  }
  return await database.transaction(check, { isolationLevel: 'repeatable read', accessMode: 'read only' })
}

async function checkAll(db: Queryable, engine: FakeEngine): Promise<string[]> {
  const transfers = await rowsOf<Transfer>(
    db,
    sql`select from_account, to_account, amount_micro::text as micro, kind, ref_id::text, user_id::text from ledger_transfer`,
  )
  const stretches = await rowsOf<Stretch>(
    db,
    sql`select id::text, user_id::text, subject_kind, subject_id, charge, rate_micro::text, rate_seconds,
      (extract(epoch from started_at) * 1000)::float8 as started, (extract(epoch from ended_at) * 1000)::float8 as ended,
      (extract(epoch from posted_until) * 1000)::float8 as posted,
      carried_parts::text as carried, rest_parts::text as rest from usage_interval`,
  )
  return [
    ...(await checkWallets(db, transfers)),
    ...checkCharges(transfers, stretches),
    ...checkOverlaps(stretches),
    ...(await checkPayments(db, transfers)),
    ...(await checkMachines(db, engine, stretches)),
    ...(await checkStores(db, engine, stretches)),
    ...(await checkCoupons(db, transfers)),
    ...checkCredits(transfers),
  ]
}

async function rowsOf<Row extends Record<string, unknown>>(db: Queryable, query: SQL): Promise<Row[]> {
  return (await db.execute(query)).rows as Row[]
}

function sumsBy<Item>(
  items: readonly Item[],
  parts: (item: Item) => [string, bigint][],
): Map<string, bigint> {
  const sums = new Map<string, bigint>()
  for (const [key, micro] of items.flatMap(parts)) sums.set(key, (sums.get(key) ?? 0n) + micro)
  return sums
}

/** Each wallet is what its entries make it, nothing of a customer's is negative, and what is set aside is there. */
async function checkWallets(db: Queryable, transfers: Transfer[]): Promise<string[]> {
  const problems: string[] = []
  const sums = sumsBy(transfers, ({ from_account, to_account, micro }) => [
    [from_account, -BigInt(micro)],
    [to_account, BigInt(micro)],
  ])
  const accounts = await rowsOf<{ id: string; user_id: string; micro: string }>(
    db,
    sql`select id, user_id::text, balance_micro::text as micro from ledger_account where user_id is not null`,
  )
  const owned = sumsBy(accounts, ({ user_id, micro }) => [[user_id, BigInt(micro)]])
  for (const { id, micro } of accounts) {
    if (BigInt(micro) !== (sums.get(id) ?? 0n))
      problems.push(`${id} is ${micro}, its entries make ${sums.get(id)}`)
    if (BigInt(micro) < 0n) problems.push(`${id} is ${micro}`)
  }
  const holds = await rowsOf<{ user_id: string; micro: string }>(
    db,
    sql`select user_id::text, (amount_micro - used_micro)::text as micro from wallet_hold where released_at is null`,
  )
  for (const [userId, micro] of sumsBy(holds, hold => [[hold.user_id, BigInt(hold.micro)]])) {
    if (micro > (owned.get(userId) ?? 0n))
      problems.push(`${userId} has ${micro} set aside of ${owned.get(userId)}`)
  }
  const all = [...sums.values()].reduce((sum, micro) => sum + micro, 0n)
  if (all !== 0n) problems.push(`all accounts together are ${all}`)
  return problems
}

/**
 * What was taken and written off for a stretch of time is what its rate makes of it, by whole seconds from its start with
 * what the one before left over; what it leaves over itself is exact to the part.
 */
function checkCharges(transfers: Transfer[], stretches: Stretch[]): string[] {
  const problems: string[] = []
  const taken = sumsBy(transfers, ({ kind, from_account, micro, ref_id }) => {
    if (kind === 'usage') return [[ref_id, from_account.startsWith('user:') ? BigInt(micro) : -BigInt(micro)]]
    if (kind !== 'write_off') return []
    return [[ref_id, from_account.startsWith('house:write_off:') ? BigInt(micro) : -BigInt(micro)]]
  })
  for (const stretch of stretches) {
    const { id, charge, ended, started } = stretch
    const micro = taken.get(id) ?? 0n
    if (charge === 'once') {
      if (micro !== BigInt(stretch.rate_micro))
        problems.push(`${id} cost ${stretch.rate_micro} and took ${micro}`)
      continue
    }
    if (ended === null && stretch.posted <= started) continue
    const ms = BigInt(Math.round((ended ?? stretch.posted) - started))
    // By fractions of one denominator, so that nothing is rounded before the end.
    const seconds = BigInt(stretch.rate_seconds)
    const carried = BigInt(stretch.carried) * seconds
    const perMs = BigInt(stretch.rate_micro) * (PARTS_PER_MICRO / 1_000n)
    const due = (carried + (ms / 1_000n) * 1_000n * perMs) / (PARTS_PER_MICRO * seconds)
    if (micro !== due) problems.push(`the stretch ${id} of ${ms} ms took ${micro}, its time costs ${due}`)
    // What is paid in advance, or counted once, leaves nothing over; what goes on has left nothing yet.
    if (charge !== 'by_time' || ended === null) continue
    const rest = (carried + ms * perMs) / seconds - due * PARTS_PER_MICRO
    if (rest !== BigInt(stretch.rest)) {
      problems.push(`the stretch ${id} of ${ms} ms leaves ${stretch.rest}, its time ${rest}`)
    }
  }
  return problems
}

/**
 * Nothing is charged for twice at the same time: neither by two stretches, nor by one beside a term. A term that was given back
 * before it began stays where it would have begun, and has no length.
 */
function checkOverlaps(stretches: Stretch[]): string[] {
  const problems: string[] = []
  const bySubject = Map.groupBy(
    stretches.filter(({ charge, started, ended }) => charge !== 'once' && ended !== started),
    ({ subject_kind, subject_id }) => `${subject_kind} ${subject_id}`,
  )
  for (const [subject, own] of bySubject) {
    own.sort((one, other) => one.started - other.started || (one.ended ?? 0) - (other.ended ?? 0))
    for (const [index, stretch] of own.entries()) {
      const before = own[index - 1]
      if (before && (before.ended ?? Number.POSITIVE_INFINITY) > stretch.started) {
        problems.push(`${subject} is charged twice: ${toldOf(before)} and ${toldOf(stretch)}`)
      }
    }
  }
  return problems
}

function toldOf({ charge, started, ended, rate_micro, rate_seconds }: Stretch): string {
  const moment = (ms: number | null) => (ms === null ? 'now' : new Date(ms).toISOString())
  return `${charge} from ${moment(started)} to ${moment(ended)} at ${rate_micro} in ${rate_seconds} s`
}

/** What the platform took and gave back is what the entries say, payment by payment and both ways. */
async function checkPayments(db: Queryable, transfers: Transfer[]): Promise<string[]> {
  const problems: string[] = []
  const atPlatform = await rowsOf<{ reference: string; status: string; cents: number; back: number }>(
    db,
    sql`select reference, status, amount_cents as cents, refunded_cents - refunds_failed_cents + coalesce((
        select max(taken) - max(won) from testcard_dispute d where d.intent_id = i.intent_id), 0) as back
      from testcard_intent i`,
  )
  const paid = sumsBy(transfers, ({ kind, ref_id, micro }) =>
    kind === 'topup' ? [[ref_id, BigInt(micro)]] : [],
  )
  const refunds = await rowsOf<{ id: string; intent_id: string }>(
    db,
    sql`select id::text, intent_id::text from payment_refund`,
  )
  const intentOf = new Map(refunds.map(({ id, intent_id }) => [id, intent_id]))
  const given = sumsBy(transfers, ({ kind, ref_id, to_account, micro }) => {
    if (kind !== 'refund') return []
    const isGiven = to_account.startsWith('house:clearing:')
    return [[intentOf.get(ref_id) ?? `nothing ${ref_id}`, isGiven ? BigInt(micro) : -BigInt(micro)]]
  })
  const known = new Map(atPlatform.map(intent => [intent.reference, intent]))
  for (const { reference, status, cents, back } of atPlatform) {
    const wanted = status === 'succeeded' ? BigInt(cents) * 10_000n : 0n
    if ((paid.get(reference) ?? 0n) !== wanted) {
      problems.push(
        `the platform took ${wanted} for ${reference} (${status}), booked are ${paid.get(reference)}`,
      )
    }
    if ((given.get(reference) ?? 0n) !== BigInt(back) * 10_000n) {
      problems.push(
        `the platform gave ${back} cents of ${reference} back, booked are ${given.get(reference)}`,
      )
    }
  }
  for (const reference of new Set([...paid.keys(), ...given.keys()])) {
    if (!known.has(reference)) problems.push(`${reference} was booked, and the platform knows nothing of it`)
  }
  return problems
}

interface Machine extends Record<string, unknown> {
  id: string
  status: string
  desired: string
  billing_type: string
  owner: boolean
}

/** No machine is nobody's, no instance lacks its machine, and what is gone costs nothing and keeps nothing set aside. */
async function checkMachines(db: Queryable, engine: FakeEngine, stretches: Stretch[]): Promise<string[]> {
  const problems: string[] = []
  const rows = await rowsOf<Machine>(
    db,
    sql`select i.id, status, desired, billing_type, exists (
        select from wallet w where w.user_id = i.user_id) as owner
      from instance i where terminated_at is null`,
  )
  const alive = new Map(rows.map(row => [row.id, row]))
  for (const { id, status, owner } of rows) {
    const machine = engine.held.get(id)
    if (!owner) problems.push(`the instance ${id} is nobody’s`)
    const runs = machine?.status.state === 'running'
    if (runs !== (status === 'running')) {
      problems.push(`the instance ${id} is ${status}, its machine ${machine?.status.state ?? 'is not there'}`)
    }
  }
  for (const id of engine.held.keys()) {
    if (!alive.has(id)) problems.push(`the machine ${id} has no instance`)
  }
  for (const { subject_kind, subject_id, charge, ended, id } of stretches) {
    if (subject_kind === 'instance' && charge === 'by_time' && ended === null && !alive.has(subject_id)) {
      problems.push(`the stretch ${id} goes on for ${subject_id}, which is gone`)
    }
  }
  const holds = await rowsOf<{ subject_kind: string; subject_id: string }>(
    db,
    sql`select subject_kind, subject_id from wallet_hold where released_at is null and subject_kind = 'instance'`,
  )
  for (const { subject_id } of holds) {
    if (!alive.has(subject_id)) problems.push(`something is set aside for ${subject_id}, which is gone`)
  }
  return problems
}

/** Volumes, snapshots and addresses are there where they are somebody's, and nowhere else. */
async function checkStores(db: Queryable, engine: FakeEngine, stretches: Stretch[]): Promise<string[]> {
  const problems: string[] = []
  const stores = await rowsOf<{ id: string; status: string }>(
    db,
    sql`select id, status from volume where deleted_at is null
      union all select id, status from volume_snapshot where deleted_at is null`,
  )
  const kept = new Set(stores.map(({ id }) => id))
  for (const { id, status } of stores) {
    if (status === 'ready' && !engine.heldVolumes.has(id))
      problems.push(`the store ${id} is ready and not there`)
  }
  // What an instance has for itself is named by the instance.
  const own = await rowsOf<{ id: string }>(db, sql`select id from instance where terminated_at is null`)
  const instances = new Set(own.map(({ id }) => id))
  for (const id of engine.heldVolumes) {
    const ownerId = /^(?:v|p|d)?-?(i-[a-z0-9]+)/.exec(id)?.[1] ?? id
    if (!kept.has(id) && !instances.has(ownerId)) problems.push(`the store ${id} is nobody’s`)
  }
  const addresses = await rowsOf<{ id: string; instance_id: string }>(
    db,
    sql`select id::text, instance_id from public_ip where instance_id is not null`,
  )
  for (const { id, instance_id } of addresses) {
    if (!instances.has(instance_id))
      problems.push(`the address ${id} belongs to ${instance_id}, which is gone`)
  }
  const bound = new Set(addresses.map(({ id }) => id))
  for (const { subject_kind, subject_id, ended } of stretches) {
    if (ended !== null) continue
    if (subject_kind === 'public_ip' && !bound.has(subject_id)) {
      problems.push(`the address ${subject_id} was given back and still costs`)
    }
    if (subject_kind === 'network_volume' && !kept.has(subject_id)) {
      problems.push(`the volume ${subject_id} is gone and still costs`)
    }
  }
  return problems
}

/** No coupon was redeemed more often than it may, and each redemption gave its credits once. */
async function checkCoupons(db: Queryable, transfers: Transfer[]): Promise<string[]> {
  const problems: string[] = []
  const rows = await rowsOf<{
    code: string
    total_max: number | null
    per_customer_max: number
    micro: string
    user_id: string
    grant_id: string
  }>(
    db,
    sql`select c.code, c.total_max, c.per_customer_max, c.amount_micro::text as micro, r.user_id::text, r.grant_id::text
      from coupon_redemption r join coupon c on c.id = r.coupon_id`,
  )
  const given = sumsBy(transfers, ({ kind, ref_id, micro }) =>
    kind === 'credit' ? [[ref_id, BigInt(micro)]] : [],
  )
  for (const [code, redeemed] of Map.groupBy(rows, row => row.code)) {
    const [{ total_max, per_customer_max } = { total_max: null, per_customer_max: 0 }] = redeemed
    if (total_max !== null && redeemed.length > total_max) {
      problems.push(`${code} was redeemed ${redeemed.length} times of ${total_max}`)
    }
    for (const [userId, own] of Map.groupBy(redeemed, row => row.user_id)) {
      if (own.length > per_customer_max) problems.push(`${userId} redeemed ${code} ${own.length} times`)
    }
    for (const { grant_id, micro } of redeemed) {
      if (given.get(grant_id) !== BigInt(micro))
        problems.push(`${code} gave ${given.get(grant_id)} of ${micro}`)
    }
  }
  return problems
}

/** Credits pay for use or end; they never become money that leaves. */
function checkCredits(transfers: Transfer[]): string[] {
  return transfers
    .filter(({ from_account, to_account, kind }) => {
      const isOut = from_account.endsWith(':credits')
      return isOut && !(kind === 'usage' || kind === 'credit_end') && !to_account.startsWith('house:revenue:')
    })
    .map(({ kind, ref_id, to_account }) => `credits went to ${to_account} by ${kind} ${ref_id}`)
}
