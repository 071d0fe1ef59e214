import { headerOf, type S3Request, type SignedS3Request } from '../protocol/s3-request.ts'
import { decodeUri } from '../protocol/signature.ts'
import { S3Error } from '../s3-error.ts'
import { type ObjectKey, readObjectKey } from '../store/object-key.ts'
import { openObject } from '../store/objects.ts'
import { COPY_CONDITIONS, isKnownToClient } from './said-headers.ts'

/** The key that a copy is made of. @throws S3Error `NoSuchBucket` for another volume: a key reaches one. */
export function readCopySource(request: SignedS3Request): ObjectKey {
  const [path = '', version] = (headerOf(request, 'x-amz-copy-source') ?? '').split('?')
  if (version !== undefined) throw new S3Error('NotImplemented', { message: 'Versions are not kept here.' })
  const decoded = decodeUri(path).replace(/^\//, '')
  const at = decoded.indexOf('/')
  if (at < 1)
    throw new S3Error('InvalidArgument', { message: 'x-amz-copy-source must be a bucket and a key.' })
  if (decoded.slice(0, at) !== request.known.bucket) throw new S3Error('NoSuchBucket')
  return readObjectKey(decoded.slice(at + 1))
}

type OpenSource = Awaited<ReturnType<typeof openObject>> & { key: ObjectKey }

/** Opens what a copy is made of, does some work, and closes it. @throws S3Error `NoSuchKey`, `PreconditionFailed`. */
export async function withCopySource<Result>(
  request: S3Request,
  work: (source: OpenSource) => Promise<Result>,
): Promise<Result> {
  const key = readCopySource(request)
  const source = await openObject(request.volume, key)
  try {
    if (isKnownToClient(request, source, COPY_CONDITIONS)) throw new S3Error('PreconditionFailed')
    return await work({ ...source, key })
  } finally {
    await source.file?.close()
  }
}
