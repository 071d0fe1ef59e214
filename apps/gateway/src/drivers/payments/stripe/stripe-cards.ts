import type { Card } from '@berth/contract/billing'
import type Stripe from 'stripe'
import type { PlatformMethod } from '../port.ts'

/** As the schemes write themselves. */
const BRANDS: Readonly<Record<string, string>> = {
  amex: 'American Express',
  cartes_bancaires: 'Cartes Bancaires',
  diners: 'Diners Club',
  eftpos_au: 'eftpos',
  jcb: 'JCB',
  unionpay: 'UnionPay',
}

/** What a charge was paid with; null where Stripe does not say. */
export function cardOfCharge(charge: Stripe.Charge | null): Card | null {
  const details = charge?.payment_method_details
  if (!details) return null
  if (details.card) return { brand: brandOf(details.card.brand ?? 'card'), last4: details.card.last4 ?? '' }
  return { brand: brandOf(details.type), last4: '' }
}

/** What tells the card of a charge apart from all others at Stripe; null where Stripe does not say. */
export function fingerprintOfCharge(charge: Stripe.Charge | null): string | null {
  return charge?.payment_method_details?.card?.fingerprint ?? null
}

/** A saved card as the port has it; null where it is no card. */
export function methodOf({ id, card }: Stripe.PaymentMethod): PlatformMethod | null {
  if (!card) return null
  const { brand, last4, exp_month: expiry_month, exp_year: expiry_year } = card
  const fingerprint = card.fingerprint ?? null
  return { method_id: id, brand: brandOf(brand), last4, expiry_month, expiry_year, fingerprint }
}

function brandOf(name: string): string {
  return BRANDS[name] ?? name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ')
}
