import { type Customer, DAY_MS, type Machine, type Store } from './customer.ts'
import { fraction } from './fractions.ts'

/** A stopped pod is kept for so many days, and told of that so many days before (R9.6). */
export const POD = { days: 30, toldDays: [7, 3, 1] }

/** From when on a machine is kept that is off and on demand. */
export const keptFrom = (at: number) => ({
  until: at + POD.days * DAY_MS,
  toldDays: Number.POSITIVE_INFINITY,
})

/** What a machine costs from a moment on: nothing in a term, all of it while it runs, its disks while it is off. */
export function meter(customer: Customer, machine: Machine, at: number): void {
  const { id, runs, price, term, gone } = machine
  if (gone || term) {
    customer.close(id, at)
    return
  }
  customer.begin(at, {
    ...{ subject: 'instance', id, usage: runs ? 'compute' : 'disk' },
    perSecond: fraction(runs ? price.running : price.stopped, 3_600n),
    endsUnpaid: runs,
  })
}

/** A machine is off from a moment on. */
export function stop(customer: Customer, machine: Machine, at: number): void {
  machine.runs = false
  meter(customer, machine, at)
  customer.account.release(machine.id)
  if (!machine.term) machine.kept = keptFrom(at)
}

/** A machine goes, with all that is its own. */
export function remove(customer: Customer, machine: Machine, at: number): void {
  customer.endTerms(at, machine)
  Object.assign(machine, { gone: true, runs: false, term: null, kept: null })
  meter(customer, machine, at)
  customer.account.release(machine.id)
  for (const { id } of [...customer.stores.values()].filter(store => store.machine === machine.id)) {
    drop(customer, id, at)
  }
}

/** A volume, an image or an address goes. */
export function drop(customer: Customer, id: string, at: number): void {
  customer.close(id, at)
  customer.account.release(id)
  customer.stores.delete(id)
}

/** A volume, an image or an address begins to cost, or costs something else. */
export function keep(
  customer: Customer,
  at: number,
  what: Pick<Store, 'id' | 'kind'> & { machine?: string; micro: bigint; seconds: bigint },
): void {
  const { id, kind, machine = null, micro, seconds } = what
  const usage = kind === 'network_volume' ? 'volume' : kind
  customer.stores.set(id, { id, kind, machine, unpaidSince: null })
  customer.begin(at, {
    ...{ subject: kind, id, usage },
    perSecond: fraction(micro, seconds),
    // An address goes on until it is given back.
    endsUnpaid: kind !== 'public_ip',
  })
}
