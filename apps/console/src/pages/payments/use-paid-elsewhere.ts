import { listTransactions, type Transaction } from '@berth/contract/billing'
import { useEffect, useRef } from 'react'
import { request } from '../../api/client.ts'

/** Among so many the newest that the customer began is looked for: others are auto top-ups, or were declined. */
const LOOKED_THROUGH = 10

/**
 * Finds a top-up that was begun since a form was drawn, in another tab or on another device: whoever pays twice without
 * knowing it has two forms open. One that was declined charged nothing, and is none.
 * @returns Finds it, each one once; null where there is none, or nobody can say.
 */
export function usePaidElsewhere(): () => Promise<Transaction | null> {
  const known = useRef<Promise<string | null | undefined> | null>(null)
  useEffect(() => {
    known.current ??= newestTopup().then(
      newest => newest?.id ?? null,
      () => undefined,
    )
  }, [])
  return async () => {
    const before = await known.current
    const newest = await newestTopup().catch(() => null)
    known.current = Promise.resolve(newest?.id ?? null)
    return before === undefined || newest === null || newest.id === before ? null : newest
  }
}

async function newestTopup(): Promise<Transaction | null> {
  const query = { type: 'topup', page: 1, page_size: LOOKED_THROUGH } as const
  const { items } = await request(listTransactions, { query }, { silent: true })
  return items.find(({ status, about }) => status !== 'failed' && about.origin === 'customer') ?? null
}
