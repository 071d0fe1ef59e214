import type { ImageStatus } from '@berth/contract/images'
import { UNPAID_IMAGE_KEPT_DAYS } from '@berth/contract/limits'
import type { ownImage } from './tables.ts'

/** A customer's own image as its table keeps it. */
export type OwnImageRow = typeof ownImage.$inferSelect

const DAY_MS = 86_400_000
const BYTES_PER_GB = 1_073_741_824

/**
 * What each status may become (R4.8). What the community has is taken off by whoever leaves `community`, `review` or
 * `refused` for `private`, and stays when the image is deleted.
 */
export const IMAGE_FOLLOWS: Readonly<Record<ImageStatus, readonly ImageStatus[]>> = {
  building: ['private', 'failed', 'deleting'],
  private: ['review', 'deleting'],
  review: ['private', 'community', 'refused', 'deleting'],
  community: ['private', 'review', 'refused', 'deleting'],
  refused: ['private', 'review', 'deleting'],
  failed: ['deleting'],
  deleting: [],
}

/** Whether an image costs something in a status: it is kept. */
export const isBilled = (status: ImageStatus): boolean =>
  status === 'private' || status === 'review' || status === 'community' || status === 'refused'

/** GB that an image is charged by: each that is begun. */
export const gbOf = ({ sizeBytes }: { sizeBytes: number }): number => Math.ceil(sizeBytes / BYTES_PER_GB)

/** When an image that nothing is left to pay for is deleted; null: it is paid for. */
export function deletedOn({ unpaidSince }: Pick<OwnImageRow, 'unpaidSince'>): Date | null {
  return unpaidSince && new Date(unpaidSince.getTime() + UNPAID_IMAGE_KEPT_DAYS * DAY_MS)
}
