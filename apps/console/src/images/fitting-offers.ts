import type { Image } from '@berth/contract/images'
import type { GpuSpec } from '@berth/contract/regions'
import { offersOf, type SpecOffer } from '../offers/offers.ts'

/** What decides which machines an image runs on. */
export type Fitted = Pick<Image, 'min_vram_gb' | 'kind' | 'region_code' | 'available'>

/**
 * Machines that an image fits, the cheapest first.
 * @param image What it needs of a GPU, and where it is.
 * @param specs Every spec of every region.
 */
export function fittingOffers(image: Fitted, specs: readonly GpuSpec[]): SpecOffer[] {
  const { min_vram_gb, kind, region_code } = image
  const fitting = specs.filter(spec => spec.vram_gb >= min_vram_gb && spec.kinds.includes(kind))
  return offersOf(fitting, region_code ?? '', 'price')
}

/** At this many machines or fewer, that there are so few is worth saying. */
const FEW = 2

/**
 * What would stop whoever wants to deploy an image, or soon may.
 * @param image The image.
 * @param specs Every spec of every region; undefined while they are not known: then only what the image itself says.
 * @returns `unavailable`: no machine here can run it. `none_fits`: no GPU is large enough. `taken`: all that fit are in
 *   use. `few`: `count` are left. Null: nothing.
 */
export function stopperOf(
  image: Fitted,
  specs: readonly GpuSpec[] | undefined,
): { code: 'unavailable' | 'none_fits' | 'taken' | 'few'; count: number } | null {
  if (!image.available) return { code: 'unavailable', count: 0 }
  if (!specs) return null
  const offers = fittingOffers(image, specs)
  if (offers.length === 0) return { code: 'none_fits', count: 0 }
  // Where one cannot be asked, nobody can tell how many there are.
  if (offers.some(({ level }) => level === 'unknown')) return null
  const count = offers.reduce((sum, { available }) => sum + available, 0)
  if (count === 0) return { code: 'taken', count }
  return count <= FEW ? { code: 'few', count } : null
}
