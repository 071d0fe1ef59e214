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
  /** A payment is sent by what is known; a form that is drawn before its answer knows no more than this one. */
  sending: (known: string | null | undefined) => void
  /** The customer is told what became of it. */
  answered: () => void
}

/** Where a tab keeps what was known of a payment without an answer, as it keeps that payment's key. */
const KEPT = 'berth.topup.after'

/**
 * Knows the newest top-up since a form was drawn: whoever pays twice without knowing it has two forms open, in other tabs or
 * on other devices, or had no answer to the first payment and opens the form anew. One that was declined charged nothing,
 * and is none.
 */
export function usePaidElsewhere(): PaidElsewhere {
  const known = useRef<Promise<string | null | undefined> | null>(null)
  useEffect(() => {
    const kept = readKept()
    known.current ??= kept === undefined ? newestTopup().then(idOf, () => undefined) : Promise.resolve(kept)
  }, [])
  const answered = () => writeKept(undefined)
  return {
    sending: writeKept,
    answered,
    known: async () => await known.current,
    find: async () => {
      const newest = await newestTopup().catch(() => undefined)
      known.current = Promise.resolve(idOf(newest))
      answered()
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

function readKept(): string | null | undefined {
  try {
    const text = sessionStorage.getItem(KEPT)
    return text === null ? undefined : text || null
  } catch {
    return undefined
  }
}

/** @param known Null, that there is none, is kept as an empty text. */
function writeKept(known: string | null | undefined): void {
  try {
    if (known === undefined) sessionStorage.removeItem(KEPT)
    else sessionStorage.setItem(KEPT, known ?? '')
  } catch {
    // Without storage it lasts as long as the form.
  }
}
