/**
 * The most changes of instances that this process makes at once. Each holds a connection of the pool, which customers' own
 * calls need as well.
 */
const CHANGES_MAX = 8

/** Runs changes of a customer's instances one after the other, and not too many at once. */
export type CustomerTurns = <T>(userId: string, change: () => Promise<T>) => Promise<T>

/**
 * Makes the turns. All changes of one customer wait for the same wallet's lock: in the database each of them would hold a
 * connection meanwhile, and a customer with many instances would hold all of them.
 */
export function createCustomerTurns(): CustomerTurns {
  const last = new Map<string, Promise<unknown>>()
  const waiting: (() => void)[] = []
  let underWay = 0

  async function enter(): Promise<void> {
    if (underWay < CHANGES_MAX) underWay += 1
    else await new Promise<void>(resolve => waiting.push(resolve))
  }

  function leave(): void {
    const next = waiting.shift()
    // Whoever comes next takes this place.
    if (next) next()
    else underWay -= 1
  }

  async function run<T>(before: Promise<unknown> | undefined, change: () => Promise<T>): Promise<T> {
    await before?.catch(() => {})
    await enter()
    try {
      return await change()
    } finally {
      leave()
    }
  }

  return (userId, change) => {
    const mine = run(last.get(userId), change)
    last.set(userId, mine)
    const forget = () => {
      if (last.get(userId) === mine) last.delete(userId)
    }
    mine.then(forget, forget)
    return mine
  }
}
