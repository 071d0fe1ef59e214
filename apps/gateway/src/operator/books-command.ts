import type { Billing } from '../domains/billing/billing.ts'

/**
 * Audits all books for an operator (B2).
 * @returns For programs and for people: each difference with both of its sides. `failed`: there is one.
 */
export async function checkBooks(
  billing: Pick<Billing, 'checkBooks'>,
): Promise<{ data: unknown; text: string; failed: boolean }> {
  const problems = await billing.checkBooks()
  const lines = problems.map(problem => `${problem}\n`)
  const failed = problems.length > 0
  return {
    data: { balanced: !failed, problems },
    text: failed ? lines.join('') : 'The books balance.\n',
    failed,
  }
}
