import { TERMINAL_ACK_BYTES } from '@berth/contract/terminal'

/** Half of what the protocol allows, because a frame is rendered as a whole and may go past the mark. */
const ACK_FROM_BYTES = TERMINAL_ACK_BYTES / 2

/** Counts the output of one socket that was rendered and not acknowledged yet. */
export interface OutputAcks {
  /**
   * Takes note of output that is on the screen.
   * @param bytes Its length.
   * @returns How many bytes to acknowledge now; 0 for not yet.
   */
  rendered: (bytes: number) => number
}

/** Makes the count; each socket needs its own, because what one was sent another does not know of. */
export function createOutputAcks(): OutputAcks {
  let waiting = 0
  return {
    rendered(bytes) {
      waiting += bytes
      if (waiting < ACK_FROM_BYTES) return 0
      const now = waiting
      waiting = 0
      return now
    },
  }
}
