import { GATEWAY_PREFIX } from './envelope.ts'

/** What the cover of an image may be sent as (R5.6). Never SVG, which is a program. */
export const COVER_MEDIA_TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif'] as const
export type CoverMediaType = (typeof COVER_MEDIA_TYPES)[number]

/** So many bytes of a file's beginning say what it is. */
export const COVER_HEAD_BYTES = 64

/** Below the gateway's prefix, where covers are served. */
export const COVERS_PATH = '/covers'

/** How a cover is known: by the SHA-256 of what is kept of it. */
export const COVER_PATTERN = /^[0-9a-f]{64}$/

/** Where a cover is served, on the gateway's origin. */
export const coverUrlOf = (cover: string): string => `${GATEWAY_PREFIX}${COVERS_PATH}/${cover}.webp`

const textAt = (bytes: Uint8Array, from: number, to: number) =>
  String.fromCharCode(...bytes.subarray(from, to))

const SIGNS: readonly (readonly [CoverMediaType, (head: Uint8Array) => boolean])[] = [
  ['image/png', head => textAt(head, 0, 8) === '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', head => textAt(head, 0, 3) === '\xff\xd8\xff'],
  ['image/gif', head => /^GIF8[79]a$/.test(textAt(head, 0, 6))],
  ['image/webp', head => textAt(head, 0, 4) === 'RIFF' && textAt(head, 8, 12) === 'WEBP'],
  ['image/avif', head => textAt(head, 4, 8) === 'ftyp' && isAvif(head)],
]

/**
 * What a file is by its content, whatever it is called.
 * @param head Its first `COVER_HEAD_BYTES`, or all of it.
 * @returns Null where it is nothing that a cover is made of.
 */
export function coverTypeOf(head: Uint8Array): CoverMediaType | null {
  return SIGNS.find(([, is]) => is(head))?.[0] ?? null
}

/** Its first box names a brand, a version, and brands that it is compatible with, of four bytes each. */
function isAvif(head: Uint8Array): boolean {
  const [a = 0, b = 0, c = 0, d = 0] = head
  const end = Math.min(head.length, COVER_HEAD_BYTES, ((a << 24) | (b << 16) | (c << 8) | d) >>> 0)
  for (let at = 8; at + 4 <= end; at += 4) {
    if (at !== 12 && textAt(head, at, at + 4) === 'avif') return true
  }
  return false
}
