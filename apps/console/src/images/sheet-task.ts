import type { CustomImage } from '@berth/contract/images'
import type { Instance } from '@berth/contract/instances'

/** What the sheet of an image is about. */
export type SheetTask =
  /** An image is made of an instance; null: of one that is chosen in it. */
  | { task: 'instance'; instance: Instance | null }
  | { task: 'registry' }
  | { task: 'dockerfile' }
  /** What could not be built is tried again, with what was said of it. */
  | { task: 'again'; image: CustomImage }
  /** New bytes of what the community has. */
  | { task: 'version'; image: CustomImage }
  | { task: 'edit'; image: CustomImage }
  | { task: 'progress'; image: CustomImage }
