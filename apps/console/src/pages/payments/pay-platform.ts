import type { payPlatform } from '@berth/contract/billing'
import type * as z from 'zod'

/** What the forms need to know of a way to pay. */
export type PayPlatform = Pick<
  z.infer<typeof payPlatform>,
  'platform_name' | 'display_name' | 'test' | 'entry' | 'publishable_key'
>

/** What stands for a card that is entered at the platform's own page. */
export const HOSTED_SOURCE = 'checkout'

/** Goes to a platform's page; `/payments`, to which it leads back, finishes what was begun. */
export function leave(address: string): void {
  location.assign(address)
}
