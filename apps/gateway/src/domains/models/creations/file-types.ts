import { coverTypeOf } from '@berth/contract/covers'

/** What a picture is by its first bytes, whatever it is called; null where it is none that browsers show. */
export const pictureTypeOf = (head: Uint8Array): string | null => coverTypeOf(head)

const WEBM = Buffer.from([0x1a, 0x45, 0xdf, 0xa3])

/** What a film is by its first bytes; null where it is neither MP4 nor WebM. Nothing else of it is looked at here. */
export function filmTypeOf(head: Buffer): 'video/mp4' | 'video/webm' | null {
  if (head.subarray(4, 8).toString('latin1') === 'ftyp') return 'video/mp4'
  return head.subarray(0, WEBM.length).equals(WEBM) ? 'video/webm' : null
}

const ENDINGS: Record<string, string> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/avif': 'avif',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
}

/** How the name of such a file ends. */
export const endingOf = (type: string): string => ENDINGS[type] ?? 'bin'
