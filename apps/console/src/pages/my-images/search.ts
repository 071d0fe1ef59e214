import type { CustomImage, ImageStatus } from '@berth/contract/images'
import * as z from 'zod'
import { findText } from '../../lists/use-filters.ts'

/** What the list can be narrowed to; `needs` are those that wait for their owner. */
export const OWN_FILTERS = ['', 'building', 'private', 'review', 'community', 'needs'] as const
export type OwnFilter = (typeof OWN_FILTERS)[number]

const NEEDS: readonly ImageStatus[] = ['refused', 'failed']

/** What the list's address holds: which images, and what is searched for. */
export const myImagesSearch = z.object({
  state: z.enum(OWN_FILTERS).catch(''),
  q: findText,
})

/** Whether an image is among those that a filter shows. One that was given up needs nothing of its owner. */
export function isShown(image: Pick<CustomImage, 'status' | 'reason'>, filter: OwnFilter): boolean {
  if (filter === '') return true
  return filter === 'needs' ? NEEDS.includes(image.status) && !isGivenUp(image) : image.status === filter
}

/** Whether its owner ended the making of an image. */
export function isGivenUp({ reason }: Pick<CustomImage, 'reason'>): boolean {
  return reason?.code === 'build_canceled'
}
