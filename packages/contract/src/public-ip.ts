import * as z from 'zod'
import { micro, timestamp } from './fields.ts'

/**
 * Where direct ports of an instance are reached: at the address that all instances share, each by a number of its own,
 * or at an address that no other instance has, by their own numbers.
 */
export const PUBLIC_IP_TYPES = ['shared', 'dedicated'] as const
export type PublicIpType = (typeof PUBLIC_IP_TYPES)[number]

/** The address at which an instance's direct ports are reached (R3.5). */
export const publicIp = z.object({
  /** What a dedicated one is given back by; null of the shared one, which nobody has. */
  id: z.string().nullable(),
  type: z.enum(PUBLIC_IP_TYPES),
  address: z.string(),
  /** From when it costs until it is given back, whether the instance runs or not; the shared one is free. */
  rate_micro_per_hour: micro,
  /** Since when it costs; null while its instance was never ready, and of the shared one. */
  costs_from: timestamp.nullable(),
})
z.globalRegistry.add(publicIp, { id: 'PublicIp' })
export type PublicIp = z.infer<typeof publicIp>
