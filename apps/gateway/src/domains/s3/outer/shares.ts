import { S3Error } from '../s3-error.ts'

interface Waiting {
  userId: string
  amount: number
  give(): void
}

/**
 * Something of which the process has so much, and each customer may have a part at a time: memory, connections. Who comes when
 * all of it is taken waits for a while, in order; those whose own part is taken hold nobody else up.
 */
export function createShares(limits: { most: number; perUserMost: number; waitMs: number }) {
  const taken = new Map<string, number>()
  const waiting = new Set<Waiting>()
  let all = 0

  const fits = ({ userId, amount }: Pick<Waiting, 'userId' | 'amount'>) =>
    all + amount <= limits.most && (taken.get(userId) ?? 0) + amount <= limits.perUserMost

  function add(userId: string, amount: number): void {
    all += amount
    const own = (taken.get(userId) ?? 0) + amount
    if (own === 0) taken.delete(userId)
    else taken.set(userId, own)
  }

  function giveOut(): void {
    for (const one of waiting) {
      if (!fits(one)) continue
      waiting.delete(one)
      add(one.userId, one.amount)
      one.give()
    }
  }

  async function take(userId: string, amount: number): Promise<void> {
    if (fits({ userId, amount })) return add(userId, amount)
    const given = Promise.withResolvers<void>()
    const one = { userId, amount, give: given.resolve }
    waiting.add(one)
    const timer = setTimeout(() => {
      if (waiting.delete(one)) given.reject(new S3Error('SlowDown'))
    }, limits.waitMs)
    return given.promise.finally(() => clearTimeout(timer))
  }

  return {
    /**
     * Does some work with so much of it.
     * @throws S3Error `SlowDown` where it is not to be had in time, and what the work throws.
     */
    async within<Result>(userId: string, amount: number, work: () => Promise<Result>): Promise<Result> {
      await take(userId, amount)
      try {
        return await work()
      } finally {
        add(userId, -amount)
        giveOut()
      }
    },
  }
}

export type Shares = ReturnType<typeof createShares>
