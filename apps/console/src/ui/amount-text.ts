import type { FieldRule } from '@berth/contract/errors'
import { centsFromText, hasPartsOfCent, hasThousandsApart } from '@berth/contract/money'
import * as z from 'zod'

/**
 * An amount to be paid, as a form's field holds it: becomes cents, rounded up (R9.3), or what is no number, for the call's
 * own rule to refuse (R5.8).
 */
export const amountText = z.string().transform(readAmount)

/** An amount that holds as it is typed, such as a limit: parts of a cent are refused, for it would become another one unseen. */
export const exactAmountText = z.string().transform(readExactAmount)

/** The same where an empty field is no amount at all. */
export const optionalAmountText = z
  .string()
  .transform((text, context) => (text.trim() === '' ? null : readExactAmount(text, context)))

function readExactAmount(text: string, context: z.core.$RefinementCtx): number {
  if (!hasPartsOfCent(text)) return readAmount(text, context)
  context.addIssue({ code: 'custom', message: 'part_of_cent' satisfies FieldRule })
  return z.NEVER
}

/** Whoever sets thousands apart is told so: nobody would guess it from a text that is called no amount. */
function readAmount(text: string, context: z.core.$RefinementCtx): number {
  const cents = centsFromText(text)
  if (cents !== null) return cents
  if (!hasThousandsApart(text)) return Number.NaN
  context.addIssue({ code: 'custom', message: 'thousands_apart' satisfies FieldRule })
  return z.NEVER
}
