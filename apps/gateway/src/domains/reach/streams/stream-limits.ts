/** Bounds of what machines send through one gateway. Tests hand in smaller ones. */
export interface StreamLimits {
  /** Connections that are open at a time into one machine: to its HTTP services and its TCP ports together. */
  connectionsPerInstanceMax: number
  /** Connections into all machines together; each holds some 200 KiB at the worst. */
  connectionsMax: number
  /** A machine gets no more than this part of the connections that are left, so that some are left for every other. */
  partOfFree: number
  /** Without a byte in either direction: longer than any sane keep-alive of an event stream. */
  quietMs: number
  /** Work that may be done at once on what machines send, before everybody else has a turn. */
  burstMs: number
  /** The part of this process's time that one machine may take in the long run. */
  shareOfOne: number
  /** The part of this process's time that all machines together may take in the long run. */
  shareOfAll: number
  /** What is read in a millisecond of work, counting what reading it, writing it and its memory take at other times. */
  bytesPerMs: number
  /** What is handed on at once, for a machine whose bytes are cheap to work on and for one whose bytes are not. */
  pieceBytesMax: number
  pieceBytesMin: number
  /** A piece that took longer than this is one of many small things, and the next will be smaller. */
  slowPieceMs: number
}

export const STREAM_LIMITS: StreamLimits = {
  connectionsPerInstanceMax: 256,
  connectionsMax: 2_000,
  partOfFree: 0.25,
  quietMs: 60 * 60_000,
  burstMs: 3,
  shareOfOne: 0.3,
  shareOfAll: 0.5,
  bytesPerMs: 256 * 1024,
  pieceBytesMax: 64 * 1024,
  pieceBytesMin: 4 * 1024,
  slowPieceMs: 1,
}
