import { crc32, deflateSync } from 'node:zlib'
import sharp, { type Sharp } from 'sharp'

/** A picture of one colour. */
export function picture(width = 400, height = 300, red = 128): Sharp {
  const background = { r: red, g: 96, b: 32 }
  return sharp({ create: { width, height, channels: 3, background } })
}

/** The same picture as each kind of file that a cover is made of. */
export const asEveryType = async (width = 400, height = 300) => ({
  'image/png': await picture(width, height, 1).png().toBuffer(),
  'image/jpeg': await picture(width, height, 60).jpeg().toBuffer(),
  'image/webp': await picture(width, height, 120).webp().toBuffer(),
  'image/gif': await picture(width, height, 180).gif().toBuffer(),
  'image/avif': await picture(width, height, 240).avif({ effort: 0 }).toBuffer(),
})

/** A GIF of two frames: the first is red, the second blue. */
export async function animation(): Promise<Buffer> {
  const frame = (r: number, b: number) =>
    sharp({ create: { width: 200, height: 100, channels: 3, background: { r, g: 0, b } } })
      .png()
      .toBuffer()
  return sharp([await frame(255, 0), await frame(0, 255)], { join: { animated: true } })
    .gif({ delay: [100, 100] })
    .toBuffer()
}

/**
 * A grey PNG of so many pixels that comes to few bytes.
 * @param rows How many rows it really has; others are missing.
 */
export function flatPng(width: number, height: number, rows = height): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  // Eight bits of grey.
  head[8] = 8
  const data = deflateSync(Buffer.alloc((width + 1) * rows), { level: 1 })
  const sign = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([sign, chunk('IHDR', head), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))])
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const check = Buffer.alloc(4)
  check.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, check])
}
