import { MODEL_PICTURE_PIXELS_MAX } from './limits.ts'

/** Width and height in pixels. */
export interface PictureSize {
  width: number
  height: number
}

/** A photograph has its camera's notes before its size, those of a telephone with how far away everything was; others begin with it. */
const JPEG_HEAD_BYTES = 4_194_304
const HEAD_BYTES = 32
/** No photograph has more segments before its size. */
const SEGMENTS_MAX = 1_000

const READERS: Record<string, (head: DataView) => PictureSize | null> = {
  'image/png': head => (head.byteLength < 24 ? null : sized(head.getUint32(16), head.getUint32(20))),
  'image/gif': head =>
    head.byteLength < 10 ? null : sized(head.getUint16(6, true), head.getUint16(8, true)),
  'image/jpeg': jpegSize,
  'image/webp': webpSize,
}

/** Of a picture of a media type so many bytes from its beginning say how large it is. */
export const pictureHeadBytes = (type: string): number =>
  type === 'image/jpeg' ? JPEG_HEAD_BYTES : HEAD_BYTES

/**
 * How large a picture is, as its first bytes say. Nothing of it is decoded.
 * @param type Its media type.
 * @param head Its first bytes, {@link pictureHeadBytes} or all.
 * @returns Null where they do not say it.
 */
export function pictureSize(type: string, head: Uint8Array): PictureSize | null {
  const view = new DataView(head.buffer, head.byteOffset, Math.min(head.length, pictureHeadBytes(type)))
  return READERS[type]?.(view) ?? null
}

/**
 * Whether a model may be given a picture (R5.10): a few bytes can be a picture of gigabytes for whoever decodes it, so what
 * does not say how large it is may be none.
 */
export const hasFewPixels = (size: PictureSize | null): size is PictureSize =>
  size !== null && size.width * size.height <= MODEL_PICTURE_PIXELS_MAX

const sized = (width: number, height: number): PictureSize | null =>
  width > 0 && height > 0 ? { width, height } : null

/** Goes from segment to segment up to the frame, which says it. */
function jpegSize(head: DataView): PictureSize | null {
  let at = 2
  for (let segment = 0; segment < SEGMENTS_MAX && at + 9 <= head.byteLength; segment++) {
    if (head.getUint8(at) !== 0xff) return null
    const kind = head.getUint8(at + 1)
    // Fill bytes stand between segments.
    if (kind === 0xff) {
      at += 1
      continue
    }
    const isFrame = kind >= 0xc0 && kind <= 0xcf && kind !== 0xc4 && kind !== 0xc8 && kind !== 0xcc
    if (isFrame) return sized(head.getUint16(at + 7), head.getUint16(at + 5))
    const isAlone = kind === 0x01 || (kind >= 0xd0 && kind <= 0xd8)
    const length = isAlone ? 0 : head.getUint16(at + 2)
    if (!isAlone && length < 2) return null
    at += 2 + length
  }
  return null
}

function webpSize(head: DataView): PictureSize | null {
  if (head.byteLength < 30) return null
  const kind = String.fromCharCode(head.getUint8(12), head.getUint8(13), head.getUint8(14), head.getUint8(15))
  const threeBytes = (at: number) => head.getUint16(at, true) + head.getUint8(at + 2) * 0x10000
  if (kind === 'VP8X') return sized(threeBytes(24) + 1, threeBytes(27) + 1)
  if (kind === 'VP8 ') return sized(head.getUint16(26, true) & 0x3fff, head.getUint16(28, true) & 0x3fff)
  if (kind !== 'VP8L') return null
  const bits = head.getUint32(21, true)
  return sized((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1)
}
