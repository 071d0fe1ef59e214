/**
 * Waits for statements of one transaction, or for what is made of several, that were begun together: they are sent without
 * waiting for each other's answers, in the order in which they stand (decision 0164).
 * @param begun In that order.
 * @returns What each came to.
 * @throws What the first of them failed with. Those behind it fail since it did, and their errors say nothing; none of them still
 *   has something to say by then.
 */
export async function together<const T extends readonly unknown[]>(
  begun: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const results = await Promise.allSettled(begun)
  for (const result of results) if (result.status === 'rejected') throw result.reason
  return results.map(result => (result as PromiseFulfilledResult<unknown>).value) as never
}
