import type { S3Answer, SignedS3Request } from '../protocol/s3-request.ts'
import { writeXml } from '../protocol/xml.ts'
import { S3Error } from '../s3-error.ts'

/** What is said of every volume alike. */
type BucketOperation = (request: Pick<SignedS3Request, 'known'>) => Promise<S3Answer>

/** The one bucket that a key reaches. */
export const listBuckets: BucketOperation = async ({ known }) => ({
  xml: writeXml('ListAllMyBucketsResult', {
    Owner: { ID: known.userId, DisplayName: known.userId },
    Buckets: {
      Bucket: {
        Name: known.bucket,
        CreationDate: new Date(known.bucketMadeMs).toISOString(),
        BucketRegion: known.region,
      },
    },
  }),
})

export const headBucket: BucketOperation = async ({ known }) => ({
  headers: { 'x-amz-bucket-region': known.region },
})

/** The region that a bucket's requests are signed for. */
export const bucketLocation: BucketOperation = async ({ known }) => {
  // A document of one element, which holds a text.
  const document = writeXml('LocationConstraint', { '#text': known.region })
  return { xml: document }
}

/** Versions are not kept; that is said as S3 says it of a bucket where they never were. */
export const bucketVersioning: BucketOperation = async () => ({
  xml: writeXml('VersioningConfiguration', {}),
})

/** Clients make a bucket to be sure that it is there. */
export const makeBucket: BucketOperation = async () => {
  throw new S3Error('BucketAlreadyOwnedByYou')
}
