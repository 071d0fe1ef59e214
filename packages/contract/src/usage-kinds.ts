import * as z from 'zod'

/**
 * What usage is of, in the order in which kinds stand beside each other: machines while they run, disks that they keep
 * while they are off, addresses of their own, what they send, network volumes, snapshots of these, images that are kept,
 * model calls.
 */
export const USAGE_KINDS = [
  'compute',
  'disk',
  'public_ip',
  'traffic',
  'volume',
  'snapshot',
  'image',
  'model',
] as const

/** What usage is of, on the wire. */
export const usageKind = z.enum(USAGE_KINDS)
export type UsageKind = z.infer<typeof usageKind>
