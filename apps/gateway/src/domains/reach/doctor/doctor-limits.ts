/** Bounds of one diagnosis. All of its checks run at once, so that it takes about as long as the longest. */
export interface DoctorLimits {
  /** From asking for a port until somebody answers there. */
  connectMs: number
  /** From a request until the first line of a service's answer; models that load answer later than others. */
  answerMs: number
  /** From asking for a shell until it has told what listens; a machine that nobody reaches is looked for meanwhile. */
  shellMs: number
  /** What a machine may say of what listens in it, in bytes. */
  listenersBytesMax: number
  /** Ports that are named which nobody declared. */
  undeclaredMax: number
  /** Addresses that are named of one port. */
  addressesMax: number
}

export const DOCTOR_LIMITS: DoctorLimits = {
  connectMs: 6_000,
  answerMs: 5_000,
  shellMs: 8_000,
  listenersBytesMax: 32 * 1024,
  undeclaredMax: 5,
  addressesMax: 3,
}
