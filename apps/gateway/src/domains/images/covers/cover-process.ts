/** Draws one picture of a customer's anew, for `remakeCover`: reads it from its input, writes a `Remade` and a WebP. */
import { buffer } from 'node:stream/consumers'
import { COVER_PIXELS_MAX, COVER_SIDE_PX_MIN } from '@berth/contract/limits'
import sharp from 'sharp'
import { KEPT_BYTES_MAX, KEPT_SIDE_PX_MAX, type Remade } from './remade.ts'

/** The best that comes to few enough bytes is kept; what is drawn for people does at the first. */
const QUALITIES = [82, 60, 35, 10] as const

/** What libvips may read: every other format, and every other way in, is shut. */
const LOADERS = ['Png', 'Jpeg', 'Webp', 'Nsgif', 'Heif'].map(format => `VipsForeignLoad${format}Buffer`)

sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({ operation: LOADERS })
sharp.concurrency(1)
sharp.cache(false)

async function remake(sent: Buffer): Promise<[Remade, Buffer?]> {
  // Of an animation the first frame; where its end is missing, nothing.
  const picture = sharp(sent, { limitInputPixels: false, pages: 1, failOn: 'error', sequentialRead: true })
  const { width, height } = await picture.metadata()
  if (width * height > COVER_PIXELS_MAX) return [{ refused: 'cover_pixels' }]
  if (Math.min(width, height) < COVER_SIDE_PX_MIN) return [{ refused: 'cover_too_small' }]
  const side = { width: KEPT_SIDE_PX_MAX, height: KEPT_SIDE_PX_MAX }
  // Turned as its camera was held; where that was, and all else that a file says of itself, is not written.
  const drawn = await picture
    .autoOrient()
    .resize({ ...side, fit: 'inside', withoutEnlargement: true })
    .raw()
    .toBuffer({ resolveWithObject: true })
  const { data, info } = drawn
  for (const quality of QUALITIES) {
    const webp = await sharp(data, { raw: info }).webp({ quality }).toBuffer()
    if (webp.length <= KEPT_BYTES_MAX) return [{ width: info.width, height: info.height }, webp]
  }
  return [{ refused: 'cover_broken' }]
}

const [remade, webp] = await remake(await buffer(process.stdin)).catch((): [Remade] => [
  { refused: 'cover_broken' },
])
process.stdout.write(`${JSON.stringify(remade)}\n`)
if (webp) process.stdout.write(webp)
