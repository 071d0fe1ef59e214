import { type ChargeCycle, TERM_DAYS } from '@berth/contract/charge-terms'
import type { Instance } from '@berth/contract/instances'
import type { Kept, MachineStretch } from './books-fixture.ts'
import type { EngineLife } from './engine-life-fixture.ts'

/** What the cheapest instance costs on demand in an hour, and a term of it: 168 h less 10 %, and 720 h less 20 %. */
const HOUR_MICRO = 80_000n
const TERM_MICRO: Record<ChargeCycle, bigint> = { weekly: 12_090_000n, monthly: 46_080_000n }
const ADDRESS_HOUR_MICRO = 5_000n
const DAY_S = 86_400

/**
 * Compares the terms that were taken of an instance with those that were bought: each at its price, and of one that ended
 * early as much as was used of it (B2, B3).
 * @param bought How many were bought.
 * @returns A sentence for each difference.
 */
export function termProblems(stretches: readonly MachineStretch[], bought: number): string[] {
  const taken = stretches.flatMap(({ term, startedAt, endedAt }) =>
    term ? [{ ...term, seconds: Math.floor(((endedAt ?? 0) - startedAt) / 1_000) }] : [],
  )
  return [
    ...(taken.length === bought ? [] : [`${bought} terms were bought, and ${taken.length} taken`]),
    ...taken.flatMap(({ cycle, priceMicro, postedMicro, seconds }) => {
      const due = usedOf(cycle, seconds)
      const isRight = priceMicro === TERM_MICRO[cycle] && postedMicro === due
      return isRight ? [] : [`${postedMicro} of ${priceMicro} for ${seconds} s ${cycle}, where ${due} is due`]
    }),
  ]
}

/** What is due of a term that was had for so long: its time on demand, at least its part, and never more than all. */
function usedOf(cycle: ChargeCycle, seconds: number): bigint {
  const [price, had, whole] = [TERM_MICRO[cycle], BigInt(seconds), BigInt(TERM_DAYS[cycle] * DAY_S)]
  const onDemand = (HOUR_MICRO * had) / 3_600n
  const part = (price * had) / whole
  const used = onDemand > part ? onDemand : part
  return used < price ? used : price
}

/**
 * Compares how an instance is paid for, and its address, with what its customer was answered.
 * @param stretches Those of its machine.
 * @returns What differs, as it is and as it is to be.
 */
export function stateProblems(
  { cycle, autoRenew, address }: EngineLife,
  listed: Instance,
  stretches: readonly MachineStretch[],
): object[] {
  const { billing_type, charge_cycle, auto_renew, expiry_time, eip } = listed
  const ends = stretches.flatMap(({ term, startedAt, endedAt }) =>
    term && endedAt !== null && endedAt > startedAt ? [endedAt] : [],
  )
  const isBegun = stretches.some(({ term }) => term !== null)
  const is = {
    billing_type,
    charge_cycle,
    auto_renew,
    expiry_time: expiry_time === null ? null : Date.parse(expiry_time),
    address: eip?.type === 'dedicated' ? { id: eip.id, address: eip.address } : null,
  }
  const wanted = {
    billing_type: cycle ? 'prepay' : 'postpay',
    charge_cycle: cycle,
    auto_renew: autoRenew,
    // What it ends with is what was paid for last.
    expiry_time: cycle && isBegun ? Math.max(...ends) : null,
    address,
  }
  return JSON.stringify(is) === JSON.stringify(wanted) ? [] : [{ is, wanted }]
}

/**
 * What is to be set aside and kept of a customer whose instances are at rest: an hour of each that runs on demand and of
 * each address, and a stretch for each address that was ever bound, open while it is.
 * @param bound Ids of all addresses that were bound so far.
 */
export function keptOf(
  lives: readonly EngineLife[],
  listed: readonly Instance[],
  bound: readonly string[],
): Kept {
  const running = listed.filter(
    ({ status, billing_type }) => status === 'running' && billing_type === 'postpay',
  )
  const addresses = lives.flatMap(({ id, address }) => (id && address ? [{ of: id, id: address.id }] : []))
  return {
    holds: [
      ...running.map(({ instance_id }) => `instance ${instance_id} ${HOUR_MICRO}`),
      ...addresses.map(({ id }) => `public_ip ${id} ${ADDRESS_HOUR_MICRO}`),
    ].sort(),
    addresses: addresses.map(({ of, id }) => `${of} ${id}`).sort(),
    addressStretches: bound
      .map(id => `${id} ${addresses.some(one => one.id === id) ? 'goes on' : 'is over'}`)
      .sort(),
  }
}
