import { COVER_HEAD_BYTES, coverTypeOf } from '@berth/contract/covers'
import type { FieldRule } from '@berth/contract/errors'
import { COVER_BYTES_MAX, COVER_PIXELS_MAX, COVER_SIDE_PX_MIN } from '@berth/contract/limits'
import { sizeOfPicture } from '../ui/picture-size.ts'

/**
 * What is wrong with a picture before it is sent, as far as a browser can tell (R5.6).
 * @param file Whatever it is called: its content says what it is.
 * @returns The rule that it breaks; null where the gateway is to say.
 */
export async function faultOfCover(file: Blob): Promise<FieldRule | null> {
  const head = await file.slice(0, COVER_HEAD_BYTES).arrayBuffer()
  if (coverTypeOf(new Uint8Array(head)) === null) return 'cover_type'
  if (file.size > COVER_BYTES_MAX) return 'cover_too_large'
  const size = await sizeOfPicture(file)
  if (size === null) return null
  if (size.width * size.height > COVER_PIXELS_MAX) return 'cover_pixels'
  return Math.min(size.width, size.height) < COVER_SIDE_PX_MIN ? 'cover_too_small' : null
}
