import type { OuterVolume } from '../gateway-side.ts'
import type { SignedS3Request } from '../protocol/s3-request.ts'
import type { OuterRoom } from './outer-room.ts'
import type { Shares } from './shares.ts'

/** A request whose signature holds, and the bucket that its volume is. */
export interface OuterRequest extends SignedS3Request {
  readonly outer: OuterVolume
  /** Memory for bodies that are held whole. */
  readonly held: Shares
  readonly room: OuterRoom
  /** In milliseconds: a long body takes its time. */
  now(): number
}
