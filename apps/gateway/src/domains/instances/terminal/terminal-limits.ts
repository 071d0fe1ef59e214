/** Bounds of the web terminal. Tests hand in smaller ones. */
export interface TerminalLimits {
  /** Output of a shell that is kept for a replay: some thousand lines, as much as an emulator's scrollback. */
  historyBytes: number
  /** Output is sent in frames of at most this much; what one turn of the event loop reads is sent as one. */
  frameBytesMax: number
  /** A shell is not read while a socket has more output than this on its way, and again below the low mark. */
  unackedHighBytes: number
  unackedLowBytes: number
  /** A tab that renders nothing for this long is no longer waited for; it gets a replay when it is back. */
  stalledMs: number
  /** Typing that the machine has not taken yet; beyond it no socket of the shell is read. */
  inputWaitingBytesMax: number
  /** Tabs on one shell. */
  socketsPerShellMax: number
  /** Shells of one gateway: bounds the memory that histories take. */
  shellsMax: number
  /** How long a shell lives without any socket. */
  idleMs: number
  /** How long a new socket may take to say its size. */
  firstFrameMs: number
  /** Between two pings: below the idle time-outs of common proxies. An unanswered one ends a socket at the next. */
  pingMs: number
  /** A size that is held this long is noticed by programs, which redraw when it is taken back. */
  nudgeMs: number
}

export const TERMINAL_LIMITS: TerminalLimits = {
  historyBytes: 256 * 1024,
  frameBytesMax: 64 * 1024,
  unackedHighBytes: 512 * 1024,
  unackedLowBytes: 128 * 1024,
  stalledMs: 15_000,
  inputWaitingBytesMax: 256 * 1024,
  socketsPerShellMax: 8,
  shellsMax: 400,
  idleMs: 8 * 3_600_000,
  firstFrameMs: 10_000,
  pingMs: 25_000,
  nudgeMs: 50,
}
