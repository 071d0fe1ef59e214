import type { Algorithms } from 'ssh2'
import type { StreamLimits } from '../streams/stream-limits.ts'

/** Bounds of the SSH server of one gateway. Tests hand in smaller ones. */
export interface SshLimits {
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
  /** Machines are not read while a connection has more than this to send. */
  waitingBytesMax: number
  /** Whoever does not take this much is not read either: each packet may have an answer. */
  unreadBytesMax: number
  /** Answers that wait for the end of an exchange of keys; clients ask for nothing meanwhile. */
  heldPacketsMax: number
  /** How much more than its window a channel to a virtual machine may hold before that is taken for hostile. */
  pastWindowBytesMax: number
  /** Silence after which a sign of life is asked for, and how many may be missed. */
  keepAliveMs: number
  keepAlivesMissedMax: number
  /** How long a virtual machine's own SSH server has to let the gateway in, and to begin each thing that it is asked for. */
  guestAnswerMs: number
  /** What it may send until it has: far more than its greeting and an exchange of keys take. */
  guestHelloBytesMax: number
  /** After its last word a connection has so long to close. */
  closeMs: number
}

export const SSH_LIMITS: SshLimits = {
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
  waitingBytesMax: 512 * 1024,
  unreadBytesMax: 1024 * 1024,
  heldPacketsMax: 4_096,
  pastWindowBytesMax: 64 * 1024,
  keepAliveMs: 30_000,
  keepAlivesMissedMax: 3,
  guestAnswerMs: 20_000,
  guestHelloBytesMax: 64 * 1024,
  closeMs: 2_000,
}

/** Their checks come with them: half of the work of the others. A client that has one of them is offered no other. */
export const QUICK_CIPHERS = ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com'] as const
/** What is as fast as it is safe; the rest is slow, old, or makes much of little. */
export const ALGORITHMS = {
  kex: ['curve25519-sha256', 'curve25519-sha256@libssh.org', 'ecdh-sha2-nistp256', 'ecdh-sha2-nistp384'],
  cipher: [...QUICK_CIPHERS, 'aes128-ctr', 'aes256-ctr'],
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
  compress: ['none'],
} satisfies Algorithms

/**
 * What a channel to a virtual machine may hold that keeps to its window, in bytes: the library opens the window of 2 MiB
 * anew as long as less than that waits to be read.
 */
export const CHANNEL_HELD_BYTES_MAX = 4 * 1024 * 1024

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
