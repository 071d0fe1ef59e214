/** Bounds of the shells that one machine, or one keeper of terminals, holds. Tests hand in smaller ones. */
export interface SessionLimits {
  /** Output of a shell that is kept for a replay: some thousand lines, as much as an emulator's scrollback. */
  historyBytes: number
  /** Output is sent in frames of at most this much; what one turn of the event loop reads is sent as one. */
  frameBytesMax: number
  /**
   * A shell is not read while a viewer has more output than this on its way, and again below the low mark. What lies
   * between them is on its way while the word to go on goes back, over two processes and a hop.
   */
  unackedHighBytes: number
  unackedLowBytes: number
  /** A viewer that renders nothing for this long is no longer waited for; it gets a replay when it is back. */
  stalledMs: number
  /** Viewers of one shell, at all gateways together. */
  viewersPerSessionMax: number
  /** Shells of one host of them: bounds the memory that histories take. */
  sessionsMax: number
  /** How long a shell lives without any viewer. */
  idleMs: number
  /** A size that is held this long is noticed by programs, which redraw when it is taken back. */
  nudgeMs: number
}

export const SESSION_LIMITS: SessionLimits = {
  historyBytes: 256 * 1024,
  frameBytesMax: 64 * 1024,
  unackedHighBytes: 1024 * 1024,
  unackedLowBytes: 512 * 1024,
  stalledMs: 15_000,
  viewersPerSessionMax: 32,
  sessionsMax: 16,
  idleMs: 8 * 3_600_000,
  nudgeMs: 50,
}

/** What one frame that waits to be sent takes beside its bytes, so that a flood of tiny ones counts too. */
export const FRAME_COST_BYTES = 256

/** Far past every real screen; terminal programs hold rows and columns of this many cells in memory. */
const TERMINAL_CELLS_MAX = 4_096

/** A width or height that the kernel takes, whatever was asked for. */
export function terminalSide(cells: number): number {
  return Math.min(Math.max(Math.trunc(cells) || 1, 1), TERMINAL_CELLS_MAX)
}
