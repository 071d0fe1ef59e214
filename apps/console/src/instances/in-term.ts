import type { Instance } from '@berth/contract/instances'

/** Whether an instance is paid for until some day: its first term has begun. */
export function isInTerm({
  billing_type,
  expiry_time,
}: Pick<Instance, 'billing_type' | 'expiry_time'>): boolean {
  return billing_type === 'prepay' && expiry_time !== null
}
