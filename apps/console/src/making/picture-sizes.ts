/** Ratios that have a name; a size within a hundredth and a half of one is called by it. */
const RATIOS = [
  [1, 1],
  [5, 4],
  [4, 3],
  [3, 2],
  [16, 9],
  [2, 1],
  [21, 9],
] as const
const RATIO_SLACK = 0.02

/** A size such as `1024x768` in pixels. */
export function pixelsOfSize(size: string): { width: number; height: number } {
  const [width = 0, height = 0] = size.split('x').map(Number)
  return { width, height }
}

/** A size as it is read: `1024 × 768`. */
export function sizeText(size: string): string {
  return size.replace('x', ' × ')
}

/**
 * What a picture of a size looks like.
 * @returns `square`, or a ratio such as `3 : 2`; null where it has none that people know.
 */
export function shapeOfSize(size: string): string | null {
  const { width, height } = pixelsOfSize(size)
  if (width === 0 || height === 0) return null
  const ratio = Math.max(width, height) / Math.min(width, height)
  const known = RATIOS.find(([long, short]) => Math.abs(ratio / (long / short) - 1) <= RATIO_SLACK)
  if (!known) return null
  const [long, short] = known
  if (long === short) return 'square'
  return width > height ? `${long} : ${short}` : `${short} : ${long}`
}

/** Which way a film of a size lies, and how many lines it has: `720p`. */
export function linesOfSize(size: string): { lines: string; way: 'wide' | 'tall' | 'square' } {
  const { width, height } = pixelsOfSize(size)
  const way = width === height ? 'square' : width > height ? 'wide' : 'tall'
  return { lines: `${Math.min(width, height)}p`, way }
}
