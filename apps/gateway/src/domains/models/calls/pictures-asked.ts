import { hasFewPixels, type PictureSize, pictureHeadBytes, pictureSize } from '@berth/contract/picture-size'
import * as z from 'zod'
import type { ModelPicture } from '../../../drivers/models/port.ts'
import type { CatalogueModel } from '../../../platform/config/catalogue.ts'
import { fieldError } from './asked-json.ts'
import { pictureTokens } from './asked-tokens.ts'
import type { ChatBody } from './chat-body.ts'

/**
 * Parts of a message that a chat may have, and all that they may hold. Others name addresses, which a server would open for
 * whoever asks; some servers look for those in parts of any type.
 */
const textPart = z.union([
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({ type: z.literal('refusal'), refusal: z.string() }),
])
const picturePart = z.strictObject({
  type: z.literal('image_url'),
  image_url: z.union([z.string(), z.strictObject({ url: z.unknown(), detail: z.string().nullish() })]),
})
const HEAD = /^"data:(image\/[a-z0-9.+-]{1,40});base64,$/
const ADDRESS_HEAD_BYTES_MAX = 64
const FIRST_CHARS = 24
/** Most pictures say within that how large they are. */
const FIRST_BYTES = 65_536

/** How files of the types begin. */
const BEGINNINGS: Record<string, RegExp> = {
  'image/png': /^\x89PNG/,
  'image/jpeg': /^\xff\xd8\xff/,
  'image/gif': /^GIF8[79]a/,
  'image/webp': /^RIFF[\s\S]{4}WEBP/,
}

type Limits = NonNullable<CatalogueModel['image_input']>

/**
 * Looks at what messages hold, and at the pictures among it (R5.10): how many, how large, of which type, and that they come with it. None of them is
 * decoded but for its beginning.
 * @param texts Of the body, by their marks.
 * @returns Their bytes as they were sent, and the tokens that they count as: about, and at the most.
 * @throws ApiError `validation_failed`
 */
export function checkPictures(
  messages: ChatBody['messages'],
  limits: Limits | null,
  texts: ReadonlyMap<string, Buffer>,
): { bytes: number; tokens: { about: number; most: number } } {
  let count = 0
  let bytes = 0
  const tokens = { about: 0, most: 0 }
  messages.forEach(({ content }, message) => {
    if (content === undefined || content === null || typeof content === 'string') return
    // One part that is in no list would be read as such by some.
    if (!Array.isArray(content)) throw fieldError(`messages.${message}.content`, 'not_allowed')
    content.forEach((part: unknown, at) => {
      if (textPart.safeParse(part).success) return
      const path = `messages.${message}.content.${at}`
      const picture = picturePart.safeParse(part)
      if (!picture.success || limits === null) throw fieldError(path, 'not_allowed')
      const { image_url: image } = picture.data
      const url = typeof image === 'string' ? image : image.url
      if (typeof url !== 'string') throw fieldError(path, 'picture_address')
      const sent = requirePicture(sentPicture(url, texts), limits, path)
      const counted = pictureTokens(sent.size, limits)
      bytes += sent.base64.length
      tokens.about += counted.about
      // What else it holds may be words for a server that reads it as such.
      tokens.most += Math.max(counted.most, sent.base64.length)
      count += 1
      if (count > limits.count_max) throw fieldError(path, 'pictures_over')
    })
  })
  return { bytes, tokens }
}

function sizeOf({ type, base64 }: SentPicture): PictureSize | null {
  const within = (bytes: number) =>
    pictureSize(type, Buffer.from(base64.toString('latin1', 0, Math.ceil(bytes / 3) * 4), 'base64'))
  // Few need more than that decoded.
  return within(FIRST_BYTES) ?? within(pictureHeadBytes(type))
}

/** A picture as it came: its type, and its bytes in base64. */
export interface SentPicture {
  type: string
  base64: Buffer
}

/** @returns Null for what is no picture that comes along. */
export function sentPicture(text: string, texts: ReadonlyMap<string, Buffer>): SentPicture | null {
  const quoted = texts.get(text) ?? Buffer.from(`"${text}"`)
  const comma = quoted.subarray(0, ADDRESS_HEAD_BYTES_MAX).indexOf(',')
  const type = HEAD.exec(quoted.toString('latin1', 0, comma + 1).replaceAll('\\/', '/'))?.[1]
  return type === undefined ? null : { type, base64: quoted.subarray(comma + 1, -1) }
}

/**
 * @returns It, with its size in pixels.
 * @throws ApiError `validation_failed` {picture_address, picture_too_large, picture_type, picture_pixels}
 */
export function requirePicture(
  picture: SentPicture | null,
  limits: Limits,
  path: string,
): SentPicture & { size: PictureSize } {
  if (picture === null) throw fieldError(path, 'picture_address')
  const { type, base64 } = picture
  if (Math.floor((base64.length * 3) / 4) > limits.bytes_max + 2) throw fieldError(path, 'picture_too_large')
  const first = Buffer.from(base64.toString('latin1', 0, FIRST_CHARS), 'base64').toString('latin1')
  const isIt = (limits.types as readonly string[]).includes(type) && BEGINNINGS[type]?.test(first)
  if (!isIt) throw fieldError(path, 'picture_type')
  const size = sizeOf(picture)
  if (!hasFewPixels(size)) throw fieldError(path, 'picture_pixels')
  return { ...picture, size }
}

/** The picture itself. */
export function decoded({ type, base64 }: SentPicture): ModelPicture {
  return { type, bytes: Buffer.from(base64.toString('latin1'), 'base64') }
}
