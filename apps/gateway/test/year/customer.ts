import { type Account, nothingTaken, openAccount, type Taken } from './account.ts'
import { type Fraction, floor, fraction, minus, plus, times, ZERO } from './fractions.ts'
import { type Cycle, type MachinePrice, type Sized, TERM_DAYS } from './price-list.ts'

export const DAY_MS = 86_400_000
const SECOND_MS = 1_000

/** What something is that costs something, as bills call it. */
export type SubjectKind = 'instance' | 'network_volume' | 'image' | 'public_ip'
export type Usage = 'compute' | 'disk' | 'traffic' | 'volume' | 'image' | 'public_ip'

/** What runs with the time. */
interface Stretch {
  subject: SubjectKind
  id: string
  usage: Usage
  from: number
  perSecond: Fraction
  /** Nothing of it goes on for long where nobody pays for it. */
  endsUnpaid: boolean
  /** What earlier stretches of the customer left over. */
  carried: Fraction
  booked: bigint
  bookedTo: number
}

/** What was paid in advance. */
interface Term {
  from: number
  until: number
  price: bigint
  taken: Taken
}

/** A machine of a customer's. */
export interface Machine extends Sized {
  id: string
  runs: boolean
  gone: boolean
  price: MachinePrice
  /** How it is paid for in advance; null: on demand. */
  term: { cycle: Cycle; renews: boolean; until: number } | null
  terms: Term[]
  /** Stopped on demand it is kept until then, and was told of it so many days before; null: it is not to be deleted. */
  kept: { until: number; toldDays: number } | null
  sent: { counter: number; bytes: number; chargedAt: number } | null
}

/** A volume, an image or an address. */
export interface Store {
  id: string
  kind: 'network_volume' | 'image' | 'public_ip'
  /** The machine that has an address. */
  machine: string | null
  unpaidSince: number | null
}

/** What a line of a bill says of one thing, one kind of its usage and one month. */
export interface Line {
  amount: bigint
  waived: bigint
}

/** What a month has come to. */
export interface Month {
  cash: bigint
  credits: bigint
  waived: bigint
  lines: Map<string, Line>
}

/** The month of a moment, in UTC. */
export const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7)

/** Opens the books of one customer. */
export function openCustomer() {
  const account: Account = openAccount()
  const machines = new Map<string, Machine>()
  const stores = new Map<string, Store>()
  const months = new Map<string, Month>()
  /** In the order in which they began. */
  const open = new Map<string, Stretch>()
  let left: Fraction = ZERO

  /** Writes what was taken, or given back, into the month of a moment. */
  function write(
    at: number,
    { subject, id, usage }: Pick<Stretch, 'subject' | 'id' | 'usage'>,
    taken: Taken,
  ) {
    const name = monthOf(at)
    const month = months.get(name) ?? { cash: 0n, credits: 0n, waived: 0n, lines: new Map() }
    months.set(name, month)
    month.cash += taken.cash
    month.credits += taken.credits
    month.waived += taken.waived
    const key = `${subject} ${id} ${usage}`
    const line = month.lines.get(key) ?? { amount: 0n, waived: 0n }
    month.lines.set(key, {
      amount: line.amount + taken.cash + taken.credits,
      waived: line.waived + taken.waived,
    })
  }

  /** What a stretch has cost: whole seconds from its start, with what was left over, rounded down once. */
  function costOf(stretch: Stretch, at: number): bigint {
    const seconds = Math.floor((at - stretch.from) / SECOND_MS)
    return floor(plus(stretch.carried, times(fraction(BigInt(seconds)), stretch.perSecond)))
  }

  /** Books what a stretch has cost up to a moment, each month's part in its month. */
  function book(stretch: Stretch, at: number): void {
    while (stretch.bookedTo < at) {
      const end = Math.min(at, nextMonth(stretch.bookedTo))
      const due = costOf(stretch, end) - stretch.booked
      if (due > 0n) write(end - 1, stretch, account.take(stretch.id, due))
      stretch.booked += due
      stretch.bookedTo = end
    }
    // One of no length has cost what it began with.
    const due = costOf(stretch, at) - stretch.booked
    if (due > 0n) write(at, stretch, account.take(stretch.id, due))
    stretch.booked += due
  }

  function bookAll(at: number): void {
    for (const stretch of open.values()) book(stretch, at)
  }

  function close(id: string, at: number): void {
    const stretch = open.get(id)
    if (!stretch) return
    book(stretch, at)
    open.delete(id)
    const exact = plus(
      stretch.carried,
      times(fraction(BigInt(at - stretch.from), BigInt(SECOND_MS)), stretch.perSecond),
    )
    left = plus(left, minus(exact, fraction(stretch.booked)))
  }

  return {
    account,
    machines,
    stores,
    months,
    close,

    /** Brings the books to a moment: each end of credits comes when it comes. */
    settle(at: number): void {
      for (let end = account.nextEnd(at); end !== null; end = account.nextEnd(at)) {
        bookAll(end)
        account.end(end)
      }
      bookAll(at)
    },

    /** Something runs from a moment on, in place of what ran for the same thing. */
    begin(at: number, what: Pick<Stretch, 'subject' | 'id' | 'usage' | 'perSecond' | 'endsUnpaid'>): void {
      close(what.id, at)
      if (what.perSecond.top === 0n) return
      open.set(what.id, { ...what, from: at, carried: left, booked: 0n, bookedTo: at })
      left = ZERO
    },

    /** Takes what was counted at a moment. */
    once(at: number, what: Pick<Stretch, 'subject' | 'id' | 'usage'>, micro: bigint): void {
      write(at, what, account.take(what.id, micro))
    },

    /** Buys a term of a machine. */
    buyTerm(at: number, machine: Machine, from: number): void {
      if (!machine.term) throw new Error('it is on demand')
      const { cycle } = machine.term
      const until = from + TERM_DAYS[cycle] * DAY_MS
      const price = machine.price.term[cycle]
      const taken = account.take(machine.id, price)
      write(at, { subject: 'instance', id: machine.id, usage: 'compute' }, taken)
      machine.terms.push({ from, until, price, taken })
      machine.term = { ...machine.term, until }
    },

    /** Ends a machine's terms: their time costs what it costs on demand, at most their price, and the rest comes back. */
    endTerms(at: number, machine: Machine): void {
      // One that ended before it began has nothing left to end.
      for (const term of machine.terms.filter(({ from, until }) => until > at && until > from)) {
        const seconds = BigInt(Math.max(0, Math.floor((at - term.from) / SECOND_MS)))
        const inAll = BigInt((term.until - term.from) / SECOND_MS)
        const part = floor(fraction(term.price * seconds, inAll))
        const onDemand = floor(fraction(machine.price.running * seconds, 3_600n))
        const cost = [onDemand > part ? onDemand : part, term.price].reduce((a, b) => (a < b ? a : b))
        const back = account.giveBack(term.taken, term.price - cost, at)
        if (term.price > cost) write(at, { subject: 'instance', id: machine.id, usage: 'compute' }, back)
        term.until = Math.max(at, term.from)
        term.price = cost
        term.taken = nothingTaken()
      }
    },

    /** What nothing is left to pay for, of what does not go on for long then. */
    unpaid: (): string[] =>
      account.free() > 0n
        ? []
        : [...open.values()].flatMap(({ id, endsUnpaid }) =>
            endsUnpaid && account.heldFor(id) === 0n ? [id] : [],
          ),

    /** Whether one thing goes on though nothing is left to pay for it. */
    isUnpaid: (id: string): boolean => account.free() <= 0n && open.has(id) && account.heldFor(id) === 0n,
  }
}
export type Customer = ReturnType<typeof openCustomer>

function nextMonth(at: number): number {
  const day = new Date(at)
  return Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + 1)
}
