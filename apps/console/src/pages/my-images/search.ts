import type { ImageStatus } from '@berth/contract/images'
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

/** Whether an image is among those that a filter shows. */
export function isShown(status: ImageStatus, filter: OwnFilter): boolean {
  if (filter === '') return true
  return filter === 'needs' ? NEEDS.includes(status) : status === filter
}
