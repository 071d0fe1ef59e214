import { runwaySeconds } from '@berth/contract/money'
import { type SQL, sql } from 'drizzle-orm'
import { least } from '../ledger/least.ts'
import { unposted } from '../meters/unposted.ts'

/** What is due on open stretches at a moment and not posted: paid from what is set aside for each, and beyond it. */
export interface Due {
  fromHoldsMicro: bigint
  beyondHoldsMicro: bigint
}

/** Credits for everything that end at one moment of which the books do not know yet. */
export interface Ending {
  at: Date
  micro: bigint
  /** What is due then; null where that moment is still to come. */
  due: Due | null
}

/** What the books have of a customer, credits for models alone left out. */
interface Booked {
  cashMicro: bigint
  creditsMicro: bigint
  /** Of the credits, what has ended and is left for what was set aside alone. */
  keptMicro: bigint
  heldMicro: bigint
  /** The nearest first. */
  endings: Ending[]
}

/** The same once all that is due is posted, and all that has ended is taken away. */
interface Reckoned {
  cashMicro: bigint
  creditsMicro: bigint
  /** What is paid of what is due; the rest is waived. */
  paidMicro: bigint
  /** What of credits ends at moments to come. */
  endings: { at: Date; micro: bigint }[]
}

/**
 * What a customer has, by what is due and not by what is posted: the same as posting comes to, stretch by stretch, with
 * each end of credits at its moment. It comes out the same in whatever order what is due at one moment is posted: first
 * from what is set aside for it, then from what is available, credits before cash, the nearest end first (R3.8).
 * @param now What is due now.
 */
export function reckon(booked: Booked, now: Due): Reckoned {
  let { keptMicro } = booked
  let cashMicro = booked.cashMicro
  let unheldMicro = booked.cashMicro + booked.creditsMicro - booked.heldMicro
  let paidMicro = 0n
  let before: Due = { fromHoldsMicro: 0n, beyondHoldsMicro: 0n }
  const lots = booked.endings.map(({ at, micro, due }) => ({ at, micro, due }))
  // What has no end, or one that the books know, comes after all others.
  const endless = {
    micro: booked.creditsMicro - keptMicro - lots.reduce((sum, { micro }) => sum + micro, 0n),
  }

  function payUpTo(due: Due): void {
    const fromHolds = due.fromHoldsMicro - before.fromHoldsMicro
    const beyond = least(due.beyondHoldsMicro - before.beyondHoldsMicro, unheldMicro)
    before = due
    unheldMicro -= beyond
    paidMicro += fromHolds + beyond
    const kept = least(fromHolds, keptMicro)
    keptMicro -= kept
    let leftMicro = fromHolds + beyond - kept
    for (const lot of [...lots, endless]) {
      const micro = least(leftMicro, lot.micro)
      lot.micro -= micro
      leftMicro -= micro
    }
    cashMicro -= leftMicro
  }

  for (const lot of lots) {
    if (lot.due === null) continue
    payUpTo(lot.due)
    const endedMicro = least(lot.micro, unheldMicro)
    unheldMicro -= endedMicro
    keptMicro += lot.micro - endedMicro
    lot.micro = 0n
  }
  payUpTo(now)
  const left = lots.filter(({ micro }) => micro > 0n)
  const creditsMicro = left.reduce((sum, { micro }) => sum + micro, keptMicro + endless.micro)
  return { cashMicro, creditsMicro, paidMicro, endings: left.map(({ at, micro }) => ({ at, micro })) }
}

/**
 * How long what a customer has lasts, when what runs goes on: credits that end are spent first, and what is left of
 * them then is not there for the time after.
 * @param now Where it begins.
 * @param endings The nearest first; part of the total.
 * @returns Whole seconds; null where nothing is spent.
 */
export function lastsSeconds(
  now: Date,
  totals: { totalMicro: bigint; burnMicroPerHour: bigint; endings: { at: Date; micro: bigint }[] },
): number | null {
  const { burnMicroPerHour, endings } = totals
  if (burnMicroPerHour <= 0n) return null
  let { totalMicro } = totals
  let usedOfThemMicro = 0n
  for (const { at, micro } of endings) {
    const burntMicro = (BigInt(at.getTime() - now.getTime()) * burnMicroPerHour) / 3_600_000n
    if (burntMicro >= totalMicro) break
    const used = least(micro, burntMicro - usedOfThemMicro)
    usedOfThemMicro += used
    totalMicro -= micro - used
  }
  return runwaySeconds(totalMicro, burnMicroPerHour)
}

/** A row of `creditsSql`: how PostgreSQL sends it. */
type EndingJson = [atMs: string, micro: string, passed: boolean, fromHolds: string, beyondHolds: string]

/**
 * Subselects on a wallet's lots: `lots` sums them, `endings` are those whose end the books do not know, by their moment.
 * @param now Where open stretches are reckoned to.
 */
export function creditsSql(now: SQL): { lots: SQL; endings: SQL } {
  const there = sql`(g.ends_at is null or g.ends_at > ${now})`
  const due = unposted(
    sql`e.ends_at`,
    sql`i.user_id = wallet.user_id and i.started_at <= e.ends_at and e.ends_at <= ${now}`,
  )
  return {
    lots: sql`lateral (
      select coalesce(sum(g.rest_micro) filter (where g.models_only), 0) as models_micro,
        coalesce(sum(g.rest_micro) filter (where g.models_only and ${there}), 0) as free_micro,
        coalesce(sum(g.rest_micro) filter (where not g.models_only and g.ended_at is not null), 0) as kept_micro,
        count(*) filter (where g.kind = 'coupon' and ${there}) as coupons
      from credit_grant g where g.user_id = wallet.user_id and g.rest_micro > 0
    ) lots`,
    endings: sql`lateral (
      select json_agg(json_build_array((extract(epoch from e.ends_at) * 1000)::bigint::text, e.micro::text,
        e.ends_at <= ${now}, due.from_holds::text, due.beyond_holds::text) order by e.ends_at) as list
      from (
        select g.ends_at, sum(g.rest_micro) as micro from credit_grant g
        where g.user_id = wallet.user_id and g.rest_micro > 0 and not g.models_only and g.ended_at is null
          and g.ends_at is not null
        group by g.ends_at
      ) e cross join lateral (
        select coalesce(sum(least(u.unposted, u.reserve)), 0) as from_holds,
          coalesce(sum(greatest(u.unposted - u.reserve, 0)), 0) as beyond_holds
        from (${due}) u
      ) due
    ) endings`,
  }
}

/** Reads what `creditsSql` gives as `endings.list`. */
export function readEndings(list: EndingJson[] | null): Ending[] {
  return (list ?? []).map(([atMs, micro, passed, fromHolds, beyondHolds]) => ({
    at: new Date(Number(atMs)),
    micro: BigInt(micro),
    due: passed ? { fromHoldsMicro: BigInt(fromHolds), beyondHoldsMicro: BigInt(beyondHolds) } : null,
  }))
}
