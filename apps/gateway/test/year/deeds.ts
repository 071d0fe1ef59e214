import type { Customer, Machine } from './customer.ts'
import type { Deed } from './log.ts'
import type { PriceList } from './price-list.ts'
import { drop, keep, keptFrom, meter, remove, stop } from './things.ts'

const MICRO_PER_CENT = 10_000n
const HOUR_S = 3_600n
const DAY_S = 86_400n

/** Whose books are at which moment, and what things cost then. */
interface At {
  customer: Customer
  prices: PriceList
  at: number
}

type Deeds = { [Kind in Deed['kind']]: (now: At, deed: Deed & { kind: Kind }) => void }

/**
 * Does in the second reckoning what was done.
 * @throws Error where it could not be done.
 */
export function carryOut(now: At, deed: Deed): void {
  const run = DEEDS[deed.kind] as (now: At, deed: Deed) => void
  run(now, deed)
}

const DEEDS: Deeds = {
  'top-up'({ customer }, { cents }) {
    customer.account.payIn(BigInt(cents) * MICRO_PER_CENT)
  },
  refund({ customer }, { cents }) {
    customer.account.payIn(-BigInt(cents) * MICRO_PER_CENT)
  },
  credits({ customer }, { micro, endsAt }) {
    customer.account.give(micro, endsAt)
  },
  volume: keepVolume,
  grow: keepVolume,
  image({ customer, prices, at }, { id, gb }) {
    const micro = BigInt(gb) * prices.imageGbDay
    keep(customer, at, { id, kind: 'image', micro, seconds: DAY_S })
  },
  address({ customer, prices, at }, { id, machine }) {
    const micro = prices.addressHour
    customer.account.setAside(id, micro)
    keep(customer, at, { id, kind: 'public_ip', machine, micro, seconds: HOUR_S })
  },
  drop({ customer, at }, { id }) {
    drop(customer, id, at)
  },
  deploy({ customer, prices, at }, { kind: _, who: __, term, ...sized }) {
    const price = prices.machine(sized)
    const machine: Machine = {
      ...{ ...sized, runs: true, gone: false, price, terms: [], kept: null, sent: null },
      term: term && { ...term, until: at },
    }
    customer.machines.set(machine.id, machine)
    // The first term begins when the machine is ready, which it is at once here.
    if (term) customer.buyTerm(at, machine, at)
    else goOnDemand({ customer, prices, at }, machine)
  },
  start({ customer, prices, at }, deed) {
    const machine = machineOf(customer, deed)
    Object.assign(machine, { runs: true, kept: null })
    if (machine.term) return
    machine.price = prices.machine(machine)
    // What the disks have cost is paid before the hour is set aside.
    customer.close(machine.id, at)
    goOnDemand({ customer, prices, at }, machine)
  },
  stop({ customer, at }, deed) {
    stop(customer, machineOf(customer, deed), at)
  },
  restart({ customer, at }, deed) {
    meter(customer, machineOf(customer, deed), at)
  },
  remove({ customer, at }, deed) {
    remove(customer, machineOf(customer, deed), at)
  },
  subscribe({ customer, prices, at }, deed) {
    const machine = machineOf(customer, deed)
    const term = { cycle: deed.cycle, renews: deed.renews, until: at }
    Object.assign(machine, { price: prices.machine(machine), kept: null, term })
    customer.close(machine.id, at)
    customer.buyTerm(at, machine, at)
    customer.account.release(machine.id)
  },
  renew({ customer, prices, at }, deed) {
    const machine = machineOf(customer, deed)
    machine.price = prices.machine(machine)
    customer.buyTerm(at, machine, machine.term?.until ?? at)
  },
  renewal({ customer }, deed) {
    const { term } = machineOf(customer, deed)
    if (term) term.renews = deed.renews
  },
  convert({ customer, prices, at }, deed) {
    const machine = machineOf(customer, deed)
    customer.endTerms(at, machine)
    machine.price = prices.machine(machine)
    if (deed.cycle) {
      machine.term = { cycle: deed.cycle, renews: machine.term?.renews ?? false, until: at }
      customer.buyTerm(at, machine, at)
      return
    }
    machine.term = null
    if (machine.runs) {
      goOnDemand({ customer, prices, at }, machine)
      return
    }
    meter(customer, machine, at)
    machine.kept = keptFrom(at)
  },
  counter({ customer, at }, deed) {
    const machine = machineOf(customer, deed)
    const { counter = deed.bytes, bytes = 0, chargedAt = at } = machine.sent ?? {}
    machine.sent = { counter: deed.bytes, bytes: bytes + deed.bytes - counter, chargedAt }
  },
}

/** A volume has its first day set aside, at the price and the size that it has from now on. */
function keepVolume({ customer, prices, at }: At, { id, gb }: { id: string; gb: number }): void {
  const micro = BigInt(gb) * prices.volumeGbDay
  customer.account.setAside(id, micro)
  keep(customer, at, { id, kind: 'network_volume', micro, seconds: DAY_S })
}

/** It runs by the hour, with its first one set aside. */
function goOnDemand({ customer, at }: At, machine: Machine): void {
  customer.account.setAside(machine.id, machine.price.running)
  meter(customer, machine, at)
}

function machineOf({ machines }: Customer, { kind, id }: { kind: string; id: string }): Machine {
  const found = machines.get(id)
  if (!found || found.gone) throw new Error(`${kind}: there is no ${id}`)
  return found
}
