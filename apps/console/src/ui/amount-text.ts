import type { FieldRule } from '@berth/contract/errors'
import { centsFromText, hasThousandsApart } from '@berth/contract/money'
import * as z from 'zod'

/** An amount as a form's field holds it: becomes cents, or what is no number, for the call's own rule to refuse (R5.8). */
export const amountText = z.string().transform(readAmount)

/** The same where an empty field is no amount at all. */
export const optionalAmountText = z
  .string()
  .transform((text, context) => (text.trim() === '' ? null : readAmount(text, context)))

/** Whoever sets thousands apart is told so: nobody would guess it from a text that is called no amount. */
function readAmount(text: string, context: z.core.$RefinementCtx): number {
  const cents = centsFromText(text)
  if (cents !== null) return cents
  if (!hasThousandsApart(text)) return Number.NaN
  context.addIssue({ code: 'custom', message: 'thousands_apart' satisfies FieldRule })
  return z.NEVER
}
