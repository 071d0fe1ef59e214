import type { OuterVolume } from '../gateway-side.ts'
import type { SignedS3Request } from '../protocol/s3-request.ts'

/** A request whose signature holds, and the bucket that its volume is. */
export interface OuterRequest extends SignedS3Request {
  readonly outer: OuterVolume
  /** In milliseconds: a long body takes its time. */
  now(): number
}
