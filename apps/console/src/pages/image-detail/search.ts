import { imageId } from '@berth/contract/images'
import * as z from 'zod'

/** The parts of an image's page that one of is in sight. */
export const IMAGE_TABS = ['readme', 'versions', 'command', 'models'] as const

/** What the page's address holds: whose page it is, and which part of it is read. */
export const imageDetailSearch = z.object({
  id: imageId.or(z.literal('')).catch(''),
  tab: z.enum(IMAGE_TABS).catch('readme'),
})
