import type { IncomingMessage, ServerResponse } from 'node:http'
import type { KnownKey, KnownVolume } from '../gateway-side.ts'
import { S3Error } from '../s3-error.ts'
import type { KeyLocks } from '../store/key-locks.ts'
import type { UploadRoom } from '../store/upload-room.ts'
import type { VolumeFolder } from '../store/volume-folder.ts'
import type { Claim } from './signature.ts'

/** A request whose signature holds. */
export interface SignedS3Request {
  readonly id: string
  readonly incoming: IncomingMessage
  readonly response: ServerResponse
  readonly method: string
  /** Empty for the list of buckets. */
  readonly bucket: string
  /** Empty for what is asked of the bucket. */
  readonly key: string
  readonly query: ReadonlyMap<string, string>
  readonly claim: Claim
  readonly known: KnownKey & KnownVolume
}

/** The same, with the folder of the volume that its key reaches. */
export interface S3Request extends SignedS3Request {
  readonly volume: VolumeFolder
  readonly locked: KeyLocks
  readonly uploadRoom: UploadRoom
}

/** What a request is answered with, but for its bytes where they are streamed. */
export interface S3Answer {
  status?: number
  headers?: Record<string, string>
  /** A document. */
  xml?: string
}

/** Does what a request asks for. Null: it has answered itself. @throws S3Error. */
export type Operation = (request: S3Request) => Promise<S3Answer | null>

/** A header of a request that comes once at most; null where it is missing. */
export function headerOf({ incoming }: Pick<S3Request, 'incoming'>, name: string): string | null {
  const value = incoming.headersDistinct[name]
  if (value === undefined) return null
  const [first = '', another] = value
  if (another !== undefined)
    throw new S3Error('InvalidRequest', { message: `The header ${name} came twice.` })
  return first
}

/** An ETag as headers and documents have it. */
export const quoted = (etag: string) => `"${etag}"`
