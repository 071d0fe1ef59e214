/** A GB in bytes, as they are shown: what is sent is counted in thousands. */
export const BYTES_PER_GB = 1_000_000_000n

/** What was sent is charged at the latest after so long. */
const CHARGED_WITHIN_MS = 3_600_000
/** So much is charged at once, so that an empty balance is found before it has sent much more: a tenth of a unit. */
const CHARGED_FROM_MICRO = 100_000n

/** What an instance has sent that is not charged yet. */
export interface Sent {
  bytes: number
  /** When it was charged last, or begun to be counted. */
  chargedAt: Date
  /** What a GB costs, in micro-units. */
  microPerGb: bigint
  /** Whether it may send more. */
  runs: boolean
}

/** What bytes cost, rounded down to the micro-unit. */
export function trafficMicro({ bytes, microPerGb }: Pick<Sent, 'bytes' | 'microPerGb'>): bigint {
  return (BigInt(bytes) * microPerGb) / BYTES_PER_GB
}

/**
 * Whether what was sent is to be charged now: it costs at least a micro-unit, and an hour has passed, or it is much, or no
 * more comes. What costs less than that waits, so that nothing is sent for free in many small pieces.
 */
export function isChargedNow(sent: Sent, now: Date): boolean {
  const micro = trafficMicro(sent)
  if (micro <= 0n) return false
  const waitedMs = now.getTime() - sent.chargedAt.getTime()
  return !sent.runs || waitedMs >= CHARGED_WITHIN_MS || micro >= CHARGED_FROM_MICRO
}
