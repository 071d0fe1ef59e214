/*
 * What one customer has, by the rules of the documents alone: nothing here knows the gateway's money.
 */

/** Credits that were given at once. */
export interface Lot {
  left: bigint
  /** From then on it is not there; null: it has no end. */
  endsAt: number | null
  /** It has ended, and what is left of it was set aside for something. */
  ended: boolean
}

/** What something has taken in all, and of which credits. */
export interface Taken {
  credits: bigint
  cash: bigint
  /** What nobody could pay. */
  waived: bigint
  lots: Map<Lot, bigint>
}

/** Nothing. */
export const nothingTaken = (): Taken => ({ credits: 0n, cash: 0n, waived: 0n, lots: new Map() })

const least = (a: bigint, b: bigint) => (a < b ? a : b)

/** Opens an account with nothing in it; amounts are micro-units. */
export function openAccount() {
  let cash = 0n
  /** In the order in which they were given. */
  const lots: Lot[] = []
  const held = new Map<string, bigint>()

  const credits = () => lots.reduce((sum, { left }) => sum + left, 0n)
  const heldInAll = () => [...held.values()].reduce((sum, micro) => sum + micro, 0n)
  /** What is neither spent nor set aside. */
  const free = () => cash + credits() - heldInAll()
  /** The nearest end is spent first, what has none last; then what was given first. */
  const inOrder = () => lots.toSorted((one, other) => endOf(one) - endOf(other))

  function draw(from: Lot[], micro: bigint, into: Map<Lot, bigint>): bigint {
    let left = micro
    for (const lot of from) {
      const part = least(left, lot.left)
      if (part === 0n) continue
      lot.left -= part
      left -= part
      into.set(lot, (into.get(lot) ?? 0n) + part)
    }
    return left
  }

  function release(subject: string): void {
    let left = held.get(subject) ?? 0n
    held.delete(subject)
    // What has ended was kept for that alone.
    for (const lot of inOrder().filter(({ ended }) => ended)) {
      const gone = least(left, lot.left)
      lot.left -= gone
      left -= gone
    }
  }

  return {
    free,
    heldFor: (subject: string) => held.get(subject) ?? 0n,
    release,
    /** What there is, for comparing. */
    totals: () => ({ cash, credits: credits(), held: heldInAll() }),

    payIn(micro: bigint): void {
      cash += micro
    },

    give(micro: bigint, endsAt: number | null): void {
      lots.push({ left: micro, endsAt, ended: false })
    },

    setAside(subject: string, micro: bigint): void {
      release(subject)
      held.set(subject, micro)
    },

    /**
     * Takes what is due: first of what its subject has set aside, then of what is free; credits before cash, and what is
     * missing is waived.
     */
    take(subject: string, due: bigint): Taken {
      const own = least(due, held.get(subject) ?? 0n)
      const other = least(due - own, free())
      if (own > 0n) held.set(subject, (held.get(subject) ?? 0n) - own)
      const used = new Map<Lot, bigint>()
      // What has ended pays for what was set aside, and for nothing else.
      const kept = inOrder().filter(({ ended }) => ended)
      const beyondKept = draw(kept, own, used) + other
      const inCash = draw(
        inOrder().filter(({ ended }) => !ended),
        beyondKept,
        used,
      )
      cash -= inCash
      return { credits: own + other - inCash, cash: inCash, waived: due - own - other, lots: used }
    },

    /** Gives a part of what was taken back: what was taken last comes back first. @returns It, as what was taken less. */
    giveBack(taken: Taken, micro: bigint, at: number): Taken {
      const waived = least(micro, taken.waived)
      const inCash = least(micro - waived, taken.cash)
      cash += inCash
      let left = micro - waived - inCash
      const back = { credits: -left, cash: -inCash, waived: -waived, lots: new Map<Lot, bigint>() }
      for (const lot of inOrder().toReversed()) {
        const part = least(left, taken.lots.get(lot) ?? 0n)
        left -= part
        back.lots.set(lot, -part)
        // What comes back to credits that have ended is gone at once.
        if (endOf(lot) > at) lot.left += part
      }
      return back
    },

    /** The next end of credits up to a moment; null: none. */
    nextEnd(until: number): number | null {
      const ends = lots.filter(({ left, ended }) => left > 0n && !ended).map(endOf)
      const first = Math.min(...ends)
      return first <= until ? first : null
    },

    /** Ends the credits whose end that is, but for what is set aside. */
    end(at: number): void {
      for (const lot of lots.filter(one => one.endsAt === at && !one.ended)) {
        lot.left -= least(lot.left, free())
        lot.ended = true
      }
    },
  }
}
export type Account = ReturnType<typeof openAccount>

function endOf({ endsAt }: Lot): number {
  return endsAt ?? Number.POSITIVE_INFINITY
}
