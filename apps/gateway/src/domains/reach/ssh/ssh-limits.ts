import { GUEST_LIMITS, type GuestLimits } from '../../../drivers/compute/port/guest-limits.ts'
import type { StreamLimits } from '../streams/stream-limits.ts'

/** Bounds of the SSH server of one gateway. Tests hand in smaller ones. */
export interface SshLimits extends GuestLimits {
  /** Connections in all. */
  connectionsMax: number
  /** Connections of which nobody knows yet whose they are: in all, and from one address. */
  strangersMax: number
  strangersPerAddressMax: number
  /** Connections of one customer. */
  connectionsPerCustomerMax: number
  /** How long whoever connects has to sign in: a passphrase is typed meanwhile. */
  signInMs: number
  /** How long a client is waited for to say what it can: longer than those take who are near, and so have much to gain. */
  firstWordsMs: number
  /** Keys that are tried on one connection: agents hold many. */
  triesMax: number
  /** Keys that are refused of one address in a minute, over all gateways. */
  refusalsPerMinuteMax: number
  /** What somebody may send who has not signed in: far more than keys and signatures take. */
  strangerBytesMax: number
  /** Shells, commands and file transfers of one connection: what OpenSSH's own server allows. */
  sessionsPerConnectionMax: number
  /** Ways to ports of one connection. */
  forwardsPerConnectionMax: number
  /**
   * What is held for a customer: what machines answer about files, as it comes and for as long as folders are open; what is
   * read ahead of files; long packets that are coming; and what channels hold beyond the shortest window.
   */
  heldBytesPerCustomerMax: number
  /** Sessions and ways to ports that a customer opens at once, and in each second after that: more of them wait. */
  asksAtOnce: number
  asksPerSecond: number
  /** Variables of one session, and the length of each with its name. */
  variablesMax: number
  variableCharsMax: number
  /** A command, as it goes to another gateway; what is longer comes by the input of a shell. */
  commandBytesMax: number
  /** After its last word a connection has so long to close. */
  closeMs: number
}

export const SSH_LIMITS: SshLimits = {
  ...GUEST_LIMITS,
  connectionsMax: 1_000,
  strangersMax: 100,
  strangersPerAddressMax: 20,
  connectionsPerCustomerMax: 50,
  signInMs: 60_000,
  firstWordsMs: 50,
  triesMax: 12,
  refusalsPerMinuteMax: 60,
  strangerBytesMax: 256 * 1024,
  sessionsPerConnectionMax: 10,
  forwardsPerConnectionMax: 64,
  heldBytesPerCustomerMax: 64 * 1024 * 1024,
  asksAtOnce: 300,
  asksPerSecond: 100,
  variablesMax: 16,
  variableCharsMax: 256,
  commandBytesMax: 10_000,
  closeMs: 2_000,
}

/**
 * What a client may send on a channel before what it has sent is read, in bytes: one packet of the longest, which any number
 * of channels may hold, and what two megabytes take, as OpenSSH's own server has it, for those that are read quickly.
 */
export const WINDOW_BYTES_MIN = 32 * 1024
export const WINDOW_BYTES_MAX = 2 * 1024 * 1024

/**
 * When is read what clients send, counted by address, and what machines send to them: in a process that does nothing else,
 * so that what one takes is bounded for the sake of the others who come by SSH, and of nobody else.
 */
export const SSH_TURNS = {
  shareOfOne: 0.8,
  shareOfAll: 1,
  bytesPerMs: 1024 * 1024,
} satisfies Partial<StreamLimits>
