import type { Duplex } from 'node:stream'
import { carry } from './carry.ts'

/** Carries both ways until either closes. */
export function joinStreams(one: Duplex, other: Duplex): void {
  for (const stream of [one, other]) stream.on('error', () => stream.destroy())
  one.once('close', () => other.destroy())
  other.once('close', () => one.destroy())
  carry(one, other)
  carry(other, one)
}
