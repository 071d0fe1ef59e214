import type { Operation, S3Request } from '../protocol/s3-request.ts'
import { S3Error } from '../s3-error.ts'
import { bucketLocation, bucketVersioning, headBucket, listBuckets, makeBucket } from './buckets.ts'
import { copyObject } from './copy-object.ts'
import { deleteObjects, deleteOne } from './delete-objects.ts'
import { listV1, listV2 } from './list-objects.ts'
import { getObject, headObject, putOne } from './objects.ts'
import {
  abortUpload,
  completeUpload,
  createMultipart,
  listOpenUploads,
  listUploadParts,
  uploadPart,
} from './uploads.ts'

/** An operation, and whether it needs a key that may write, and a volume that is paid for. */
export interface Offered {
  /** Such as `GET bucket uploads`. */
  name: string
  writes: boolean
  /** Whether it makes what a volume holds less, and nothing else. */
  frees?: boolean
  run: Operation
}

const reads = (run: Operation): Omit<Offered, 'name'> => ({ writes: false, run })
const writes = (run: Operation): Omit<Offered, 'name'> => ({ writes: true, run })
const frees = (run: Operation): Omit<Offered, 'name'> => ({ writes: true, frees: true, run })

/** Parameters that choose an operation; those that are not offered are named, so that nobody takes a list for them. */
const CHOOSERS = new Set([
  'accelerate',
  'acl',
  'analytics',
  'attributes',
  'cors',
  'delete',
  'encryption',
  'intelligent-tiering',
  'inventory',
  'legal-hold',
  'lifecycle',
  'location',
  'logging',
  'metadataConfiguration',
  'metadataTable',
  'metrics',
  'notification',
  'object-lock',
  'ownershipControls',
  'policy',
  'policyStatus',
  'publicAccessBlock',
  'renameObject',
  'replication',
  'requestPayment',
  'restore',
  'retention',
  'select',
  'session',
  'tagging',
  'torrent',
  'uploadId',
  'uploads',
  'versionId',
  'versioning',
  'versions',
  'website',
]) // prettier-ignore

/** By the method, what it is asked of, and the parameter that chooses. */
const OFFERED: Readonly<Record<string, Omit<Offered, 'name'>>> = {
  'GET service': reads(listBuckets),
  'HEAD bucket': reads(headBucket),
  'PUT bucket': writes(makeBucket),
  'GET bucket': reads(listV1),
  'GET bucket list-type': reads(listV2),
  'GET bucket location': reads(bucketLocation),
  'GET bucket versioning': reads(bucketVersioning),
  'GET bucket uploads': reads(listOpenUploads),
  'POST bucket delete': frees(deleteObjects),
  'GET object': reads(getObject),
  'HEAD object': reads(headObject),
  'PUT object': writes(putOne),
  'PUT object copy': writes(copyObject),
  'DELETE object': frees(deleteOne),
  'POST object uploads': writes(createMultipart),
  'POST object uploadId': writes(completeUpload),
  'PUT object uploadId': writes(uploadPart),
  'GET object uploadId': reads(listUploadParts),
  'DELETE object uploadId': frees(abortUpload),
}

const METHODS = new Set(['GET', 'HEAD', 'PUT', 'POST', 'DELETE'])

/**
 * Which operation a request is.
 * @throws S3Error `NotImplemented` for what S3 has and volumes do not, `MethodNotAllowed`.
 */
export function operationOf({
  method,
  bucket,
  key,
  query,
  isCopy = false,
}: Pick<S3Request, 'method' | 'bucket' | 'key' | 'query'> & { isCopy?: boolean }): Offered {
  if (!METHODS.has(method)) throw new S3Error('MethodNotAllowed')
  const of = bucket === '' ? 'service' : key === '' ? 'bucket' : 'object'
  const chosen = [...query.keys()].filter(name => CHOOSERS.has(name))
  if (query.get('list-type') === '2' && of === 'bucket') chosen.push('list-type')
  if (isCopy && chosen.length === 0) chosen.push('copy')
  const name = [method, of, ...chosen].join(' ')
  const found = OFFERED[name]
  if (found) return { name, ...found }
  if (chosen.length > 0)
    throw new S3Error('NotImplemented', { message: `${chosen.join(', ')}: this is not offered here.` })
  if (of === 'bucket' && method === 'DELETE') {
    throw new S3Error('NotImplemented', { message: 'A volume is deleted in the console.' })
  }
  throw new S3Error('MethodNotAllowed')
}
