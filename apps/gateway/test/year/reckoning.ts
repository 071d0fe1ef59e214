import {
  type Customer,
  DAY_MS,
  type Machine,
  type Month,
  monthOf,
  openCustomer,
  type Store,
} from './customer.ts'
import { carryOut } from './deeds.ts'
import { floor, fraction } from './fractions.ts'
import type { Entry } from './log.ts'
import { type PriceList, readPrices } from './price-list.ts'
import { drop, keptFrom, meter, POD, remove, stop } from './things.ts'

const HOUR_MS = 3_600_000
const MICRO_PER_CENT = 10_000n
const BYTES_PER_GB = 1_000_000_000n
/** So many days is kept what nobody pays for (B4). */
const UNPAID_DAYS: Record<Store['kind'], number> = { network_volume: 14, image: 14, public_ip: 7 }
/** What was sent is charged at the latest after an hour, and at once from so much on (decision 0129). */
const SENT_MICRO = 100_000n

/** What a customer had at the beginning of a month. */
export interface Balance {
  cash: bigint
  credits: bigint
  held: bigint
}

/** What is expected of one customer. */
export interface Reckoned {
  /** By month: what was charged and waived, in all and by thing and kind. */
  months: Map<string, Month>
  balances: Map<string, Balance>
  /** What the invoice of a month says, in cents; a month without one is not here. */
  invoices: Map<string, bigint>
}

/**
 * Reckons a second time what everybody has paid, from the price lists and from what was done: by fractions, and rounded
 * only where a rule says so. It knows nothing of the gateway.
 * @param log In the order in which it happened.
 * @returns By customer.
 * @throws Error where something was done that could not be.
 */
export function reckon(log: readonly Entry[]): Map<string, Reckoned> {
  const customers = new Map<string, Customer>()
  const results = new Map<string, Reckoned>()
  const invoiced = new Map<string, bigint>()
  let prices: PriceList | null = null
  let month = ''

  for (const entry of log) {
    const { at } = entry
    if (entry.kind === 'prices') {
      prices = readPrices(entry.text)
    } else if (entry.kind === 'look') {
      if (!prices) throw new Error('there are no prices yet')
      for (const customer of customers.values()) look(customer, prices, at)
      if (monthOf(at) !== month && month !== '') endMonth(month, at)
      month = monthOf(at)
    } else {
      if (!prices) throw new Error('there are no prices yet')
      const customer = customers.get(entry.who) ?? openCustomer()
      customers.set(entry.who, customer)
      if (!results.has(entry.who)) {
        results.set(entry.who, { months: customer.months, balances: new Map(), invoices: new Map() })
      }
      customer.settle(at)
      carryOut({ customer, prices, at }, entry)
    }
  }
  return results

  /** What every month ends with: a balance, and an invoice of what all usage in cents has grown by since the last one. */
  function endMonth(ended: string, at: number): void {
    for (const [who, customer] of customers) {
      const result = results.get(who)
      const own = [...customer.months].filter(([name]) => name <= ended).map(([, sums]) => sums)
      const inAll = own.reduce((sum, { cash, credits }) => sum + cash + credits, 0n)
      const before = invoiced.get(who) ?? 0n
      const cents = floor(fraction(inAll, MICRO_PER_CENT)) - floor(fraction(before, MICRO_PER_CENT))
      if (cents > 0n) {
        result?.invoices.set(ended, cents)
        invoiced.set(who, inAll)
      }
      result?.balances.set(monthOf(at), customer.account.totals())
    }
  }
}

/** What the gateway's rounds do by themselves. */
function look(customer: Customer, prices: PriceList, at: number): void {
  const { machines, stores } = customer
  customer.settle(at)
  const unpaid = customer.unpaid()
  for (const id of unpaid) {
    const machine = machines.get(id)
    if (machine) stop(customer, machine, at)
    const store = stores.get(id)
    if (store) store.unpaidSince ??= at
  }
  for (const machine of [...machines.values()].filter(({ gone }) => !gone)) {
    if (machine.term && machine.term.until <= at) endTerm(customer, prices, machine, at)
    if (machine.kept && isDeleted(machine.kept, at)) remove(customer, machine, at)
  }
  for (const machine of machines.values()) chargeSent(customer, machine, at)
  for (const store of stores.values()) lookAtStore(customer, store, at)
}

function lookAtStore(customer: Customer, store: Store, at: number): void {
  const isUnpaid = customer.isUnpaid(store.id)
  if (!isUnpaid) store.unpaidSince = null
  // An address is noted here, the others where an empty balance is found.
  else if (store.kind === 'public_ip') store.unpaidSince ??= at
  if (store.unpaidSince !== null && at >= store.unpaidSince + UNPAID_DAYS[store.kind] * DAY_MS) {
    drop(customer, store.id, at)
  }
}

/** A pod that stays stopped is told of three times, and then deleted; what is told late puts it off. */
function isDeleted(kept: NonNullable<Machine['kept']>, at: number): boolean {
  for (const day of POD.toldDays.filter(day => day < kept.toldDays)) {
    if (at < kept.until - day * DAY_MS) return false
    kept.toldDays = day
    kept.until = Math.max(kept.until, at + day * DAY_MS)
  }
  return at >= kept.until
}

function chargeSent(customer: Customer, machine: Machine, at: number): void {
  const { sent, price, id } = machine
  if (!sent) return
  const micro = floor(fraction(BigInt(sent.bytes) * price.sentGb, BYTES_PER_GB))
  if (micro === 0n) return
  if (machine.runs && at - sent.chargedAt < HOUR_MS && micro < SENT_MICRO) return
  customer.once(at, { subject: 'instance', id, usage: 'traffic' }, micro)
  machine.sent = { ...sent, bytes: 0, chargedAt: at }
}

/** A term is over: the next one is bought, or the machine goes on demand and off, or it is removed. */
function endTerm(customer: Customer, prices: PriceList, machine: Machine, at: number): void {
  const { term } = machine
  if (!term) return
  if (!term.renews) {
    remove(customer, machine, at)
    return
  }
  const price = prices.machine(machine)
  if (customer.account.free() >= price.term[term.cycle]) {
    machine.price = price
    customer.buyTerm(at, machine, at - term.until > HOUR_MS ? at : term.until)
    return
  }
  machine.term = null
  meter(customer, machine, at)
  if (machine.runs) stop(customer, machine, at)
  else machine.kept = keptFrom(at)
}
