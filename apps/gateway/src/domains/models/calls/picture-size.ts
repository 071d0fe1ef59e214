/** Of a picture so much is looked at: a photograph has its camera's notes and a colour profile before its size. */
export const HEAD_BYTES = 262_144
/** No picture has more segments before its size. */
const SEGMENTS_MAX = 1_000

/** What says that it is larger cannot be drawn by anybody. */
const SIDE_MAX = 100_000

/** Width and height in pixels. */
export interface PictureSize {
  width: number
  height: number
}

type Read = (head: Buffer) => PictureSize | null

const READERS: Record<string, Read> = {
  'image/png': head => (head.length < 24 ? null : sized(head.readUInt32BE(16), head.readUInt32BE(20))),
  'image/gif': head => (head.length < 10 ? null : sized(head.readUInt16LE(6), head.readUInt16LE(8))),
  'image/jpeg': jpegSize,
  'image/webp': webpSize,
}

/**
 * How large a picture is, as its first bytes say. Nothing of it is decoded.
 * @param type Its media type.
 * @param head Its first bytes, {@link HEAD_BYTES} or all.
 * @returns Null where they do not say it.
 */
export function pictureSize(type: string, head: Buffer): PictureSize | null {
  return READERS[type]?.(head) ?? null
}

function sized(width: number, height: number): PictureSize | null {
  const isOne = (side: number) => side > 0 && side <= SIDE_MAX
  return isOne(width) && isOne(height) ? { width, height } : null
}

/** Goes from segment to segment up to the frame, which says it. */
function jpegSize(head: Buffer): PictureSize | null {
  let at = 2
  for (let segment = 0; segment < SEGMENTS_MAX && at + 9 <= head.length; segment++) {
    if (head[at] !== 0xff) return null
    const kind = head[at + 1] ?? 0
    // Fill bytes stand between segments.
    if (kind === 0xff) {
      at += 1
      continue
    }
    const isFrame = kind >= 0xc0 && kind <= 0xcf && kind !== 0xc4 && kind !== 0xc8 && kind !== 0xcc
    if (isFrame) return sized(head.readUInt16BE(at + 7), head.readUInt16BE(at + 5))
    const isAlone = kind === 0x01 || (kind >= 0xd0 && kind <= 0xd8)
    const length = isAlone ? 0 : head.readUInt16BE(at + 2)
    if (!isAlone && length < 2) return null
    at += 2 + length
  }
  return null
}

function webpSize(head: Buffer): PictureSize | null {
  if (head.length < 30) return null
  const kind = head.toString('latin1', 12, 16)
  if (kind === 'VP8X') return sized(head.readUIntLE(24, 3) + 1, head.readUIntLE(27, 3) + 1)
  if (kind === 'VP8 ') return sized(head.readUInt16LE(26) & 0x3fff, head.readUInt16LE(28) & 0x3fff)
  if (kind !== 'VP8L') return null
  const bits = head.readUInt32LE(21)
  return sized((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1)
}
