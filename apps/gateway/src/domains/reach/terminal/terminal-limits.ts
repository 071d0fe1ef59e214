import { TERMINAL_SESSIONS_MAX } from '@berth/contract/limits'

/** Bounds of the web terminal in one gateway. Tests hand in smaller ones. */
export interface TerminalLimits {
  /** The machine's side is not read while a socket holds more than this in this process, and again below the low mark. */
  heldHighBytes: number
  heldLowBytes: number
  /** Typing that the machine's side has not taken yet; beyond it the tab is not read. */
  inputWaitingBytesMax: number
  /** Tabs on one instance, each with a socket to one of its shells: two pages that show them all. */
  tabsPerInstanceMax: number
  /** Tabs of one gateway: bounds the memory that they take. */
  tabsMax: number
  /** How long a new socket may take to say its size. */
  firstFrameMs: number
  /** Between two pings: below the idle time-outs of common proxies. An unanswered one ends a socket at the next. */
  pingMs: number
}

/** What one message that waits takes beside its bytes, so that a flood of empty ones counts too. */
export const MESSAGE_COST_BYTES = 256

export const TERMINAL_LIMITS: TerminalLimits = {
  heldHighBytes: 512 * 1024,
  heldLowBytes: 128 * 1024,
  inputWaitingBytesMax: 256 * 1024,
  tabsPerInstanceMax: 2 * TERMINAL_SESSIONS_MAX,
  tabsMax: 1_000,
  firstFrameMs: 10_000,
  pingMs: 25_000,
}
