import { getSettings } from '@berth/contract/account'
import { getBalance } from '@berth/contract/billing'
import type { CallData, CallInput, ReadingCall } from '@berth/contract/call'
import { BALANCE_POLL_MS } from '@berth/contract/limits'
import { queryOptions, type UseQueryResult } from '@tanstack/react-query'
import type { ApiError } from './api-error.ts'
import { request } from './client.ts'

/**
 * A query made from a call of the contract: `useQuery(queryOf(listInstances, {}))`. Its key is the operation
 * and the input, so that a change finds what it makes old.
 * @param call A call that only reads.
 * @param input Its params, query or body.
 */
export function queryOf<C extends ReadingCall>(call: C, input: CallInput<C>) {
  return queryOptions<CallData<C>, ApiError>({
    queryKey: [call.operation, input],
    queryFn: ({ signal }) => request(call, input, { signal, silent: true }),
    meta: { outlivesNavigation: call.outlivesNavigation },
  })
}

/** The balance, each five seconds while the tab is visible (R9.2). A failed poll shows nothing; the next one may pass. */
export const balanceQuery = queryOptions({
  ...queryOf(getBalance, {}),
  refetchInterval: BALANCE_POLL_MS,
  refetchIntervalInBackground: false,
  meta: { outlivesNavigation: getBalance.outlivesNavigation, silent: true },
})

/** One failed poll is made good by the next; from the second on the balance is of before. */
const OLD_AFTER_MS = 2 * BALANCE_POLL_MS

/**
 * Since when a balance that stays on the screen is old, because newer ones did not come.
 * @param query What `useQuery(balanceQuery)` returned.
 * @returns When it came, in milliseconds since 1970; null while it is new enough, or unknown.
 */
export function oldSince(
  query: Pick<UseQueryResult, 'error' | 'errorUpdatedAt' | 'dataUpdatedAt'>,
): number | null {
  const { error, errorUpdatedAt, dataUpdatedAt } = query
  if (error === null || dataUpdatedAt === 0) return null
  return errorUpdatedAt - dataUpdatedAt >= OLD_AFTER_MS ? dataUpdatedAt : null
}

/** Brand, links and what this installation has; it does not change while the page is open. */
export const settingsQuery = queryOptions({
  ...queryOf(getSettings, {}),
  staleTime: Number.POSITIVE_INFINITY,
  meta: { outlivesNavigation: getSettings.outlivesNavigation, silent: true },
})
