import type { Sealer } from '../sealer.ts'
import { ApiError } from './api-error.ts'

/** Where pages of a list begin, as callers carry it from one page to the next. */
export interface Cursors {
  /**
   * @param position What the next page comes after: the values of the last row that the list is ordered by.
   * @param place Whose list it is and how it is narrowed: it opens there alone.
   */
  seal(position: readonly string[], place: readonly string[]): string
  /** @throws ApiError `cursor_invalid` where it was made up, changed, or made for another list. */
  open(cursor: string, place: readonly string[]): string[]
}

/**
 * Cursors that tell nothing and cannot be made up: callers neither see by what a list is ordered nor begin where no page
 * ended.
 * @param sealer Under a key that all gateways have, since any of them may be asked for the next page.
 */
export function createCursors(sealer: Sealer): Cursors {
  return {
    seal(position, place) {
      const { box } = sealer.seal(JSON.stringify(position), place)
      return box.toString('base64url')
    },
    open(cursor, place) {
      try {
        const box = Buffer.from(cursor, 'base64url')
        // Decoding passes over what is no base64, so that one box would have many texts.
        if (box.toString('base64url') !== cursor) throw new Error('not as it was written')
        return JSON.parse(sealer.open({ box, keyId: sealer.keyId }, place)) as string[]
      } catch (cause) {
        throw new ApiError('cursor_invalid', { cause })
      }
    },
  }
}
