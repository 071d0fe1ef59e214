import type { PaymentMethod } from '@berth/contract/payment-methods'

/** A Visa that is the default. */
export const madeMethod = (about: Partial<PaymentMethod> = {}): PaymentMethod => ({
  id: 'pm_01890000-0000-7000-8000-000000000001',
  platform_name: 'testcard',
  source: 'card_1',
  brand: 'Visa',
  last4: '4242',
  expiry_month: 8,
  expiry_year: 2029,
  expired: false,
  is_default: true,
  status: 'saved',
  next_url: null,
  kept_for: null,
  refused_at: null,
  refused_for: null,
  created_at: '2026-11-01T00:00:00.000Z',
  ...about,
})

/** Another one, with which the last charge was refused. */
export const madeRefused = (about: Partial<PaymentMethod> = {}): PaymentMethod =>
  madeMethod({
    id: 'pm_01890000-0000-7000-8000-000000000002',
    brand: 'Mastercard',
    last4: '4444',
    is_default: false,
    refused_at: '2026-11-19T21:04:00.000Z',
    refused_for: 'card_insufficient_funds',
    ...about,
  })
