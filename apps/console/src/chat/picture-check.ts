import type { Model } from '@berth/contract/models'

/** What a model takes of pictures: how many with a message, how large each, of which types. */
export type PictureLimits = NonNullable<Model['image_input']>

/** Why a picture is not sent. */
export type PictureFault = 'not_type' | 'not_size' | 'not_pixels' | 'not_count' | 'not_picture' | 'not_room'

/** Base64 has four letters for three bytes. */
const LETTERS_PER_BYTE = 4 / 3
/** What a message has around its pictures. */
const AROUND_BYTES = 4_000

/**
 * What is wrong with a file before it is read, by the limits that the model has (R5.10).
 * @param file What its browser says of it.
 * @param others How many pictures the message has already that are sent.
 */
export function faultOfFile(
  { type, size }: Pick<File, 'type' | 'size'>,
  { types, bytes_max, count_max }: PictureLimits,
  others: number,
): PictureFault | null {
  if (!types.includes(type)) return 'not_type'
  if (size > bytes_max) return 'not_size'
  return others >= count_max ? 'not_count' : null
}

/**
 * Whether pictures fit into one message beside all that is sent again with it.
 * @param sizes Of all of them, in bytes.
 * @param bodyBytesMax What the gateway reads of one message.
 */
export function fitTogether(sizes: readonly number[], bodyBytesMax: number): boolean {
  const bytes = sizes.reduce((sum, size) => sum + size * LETTERS_PER_BYTE, AROUND_BYTES)
  return bytes <= bodyBytesMax
}

/** Types as people know them: `PNG, JPEG`. */
export function typeNames(types: readonly string[]): string {
  return types.map(type => type.replace(/^image\//, '').toUpperCase()).join(', ')
}
