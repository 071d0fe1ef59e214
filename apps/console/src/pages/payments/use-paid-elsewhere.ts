import { listTransactions, type Transaction } from '@berth/contract/billing'
import { useEffect, useRef } from 'react'
import { request } from '../../api/client.ts'

/** Among so many the newest that the customer began is looked for: others are auto top-ups, or were declined. */
const LOOKED_THROUGH = 10

/** The newest top-up that a form knows of: the gateway charges nothing where there is another one since. */
export interface PaidElsewhere {
  /** Its id; null where there is none; undefined where nobody could say. */
  known: () => Promise<string | null | undefined>
  /** The newest that there is now, known from here on; null where there is none, or nobody can say. */
  find: () => Promise<Transaction | null>
}

/**
 * Knows the newest top-up since a form was drawn: whoever pays twice without knowing it has two forms open, in other tabs or
 * on other devices. One that was declined charged nothing, and is none.
 */
export function usePaidElsewhere(): PaidElsewhere {
  const known = useRef<Promise<string | null | undefined> | null>(null)
  useEffect(() => {
    known.current ??= newestTopup().then(idOf, () => undefined)
  }, [])
  return {
    known: async () => await known.current,
    find: async () => {
      const newest = await newestTopup().catch(() => undefined)
      known.current = Promise.resolve(idOf(newest))
      return newest ?? null
    },
  }
}

function idOf(newest: Transaction | null | undefined): string | null | undefined {
  return newest === undefined ? undefined : (newest?.id ?? null)
}

/** @returns Null where there is none; undefined where there may be one behind those that were looked through. */
async function newestTopup(): Promise<Transaction | null | undefined> {
  const query = { type: 'topup', page: 1, page_size: LOOKED_THROUGH } as const
  const { items, total } = await request(listTransactions, { query }, { silent: true })
  const newest = items.find(({ status, about }) => status !== 'failed' && about.origin === 'customer')
  return newest ?? (total > items.length ? undefined : null)
}
