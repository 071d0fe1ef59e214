import type { Algorithms } from 'ssh2'

/** Bounds of a connection to a virtual machine's own SSH server, some of which hold for any connection. */
export interface GuestLimits {
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
}

export const GUEST_LIMITS: GuestLimits = {
  waitingBytesMax: 512 * 1024,
  unreadBytesMax: 1024 * 1024,
  heldPacketsMax: 4_096,
  pastWindowBytesMax: 64 * 1024,
  keepAliveMs: 30_000,
  keepAlivesMissedMax: 3,
  guestAnswerMs: 20_000,
  guestHelloBytesMax: 64 * 1024,
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
