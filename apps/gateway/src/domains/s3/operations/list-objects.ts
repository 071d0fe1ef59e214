import { type Operation, quoted, type S3Request } from '../protocol/s3-request.ts'
import { encodeUri } from '../protocol/signature.ts'
import { writeXml, type XmlParts } from '../protocol/xml.ts'
import { S3Error } from '../s3-error.ts'
import { S3_LIMITS } from '../s3-limits.ts'
import { type ListAnswer, listObjects } from '../store/list-objects.ts'

/** A whole number of the query. @throws S3Error `InvalidArgument`. */
export function numberOf(
  { query }: Pick<S3Request, 'query'>,
  name: string,
  most: number,
  otherwise = most,
): number {
  const text = query.get(name)
  if (text === undefined || text === '') return otherwise
  if (!/^\d{1,9}$/.test(text))
    throw new S3Error('InvalidArgument', { message: `${name} must be a whole number from 0 on.` })
  return Math.min(Number(text), most)
}

/** How names are written in a list. @throws S3Error `InvalidArgument`. */
export function encodingOf({ query }: Pick<S3Request, 'query'>) {
  const type = query.get('encoding-type')
  if (type !== undefined && type !== 'url') {
    throw new S3Error('InvalidArgument', { message: 'encoding-type must be url.' })
  }
  return { type, encode: (text: string) => (type === 'url' ? encodeUri(text, '/') : text) }
}

function readQuestion(request: S3Request) {
  const { query } = request
  return {
    prefix: query.get('prefix') ?? '',
    delimiter: query.get('delimiter') ?? '',
    keysMax: numberOf(request, 'max-keys', S3_LIMITS.listKeysMax),
  }
}

function partsOf(
  { known }: S3Request,
  { objects, prefixes, next }: ListAnswer,
  encode: (text: string) => string,
  hasOwner: boolean,
): XmlParts {
  return {
    IsTruncated: next !== null,
    Contents: objects.map(({ key, seen }) => ({
      Key: encode(key),
      LastModified: seen.modified.toISOString(),
      ETag: quoted(seen.etag),
      ...(seen.facts?.checksum && {
        ChecksumAlgorithm: seen.facts.checksum.algorithm.toUpperCase(),
        ChecksumType: seen.facts.checksum.isComposite ? 'COMPOSITE' : 'FULL_OBJECT',
      }),
      Size: seen.bytes,
      ...(hasOwner && { Owner: { ID: known.userId, DisplayName: known.userId } }),
      StorageClass: 'STANDARD',
    })),
    CommonPrefixes: prefixes.map(prefix => ({ Prefix: encode(prefix) })),
  }
}

export const listV1: Operation = async request => {
  const { query, known, volume } = request
  const { type, encode } = encodingOf(request)
  const question = readQuestion(request)
  const marker = query.get('marker') ?? ''
  const answer = await listObjects(volume, { ...question, after: marker })
  return {
    xml: writeXml('ListBucketResult', {
      Name: known.bucket,
      Prefix: encode(question.prefix),
      Marker: encode(marker),
      MaxKeys: question.keysMax,
      ...(question.delimiter !== '' && { Delimiter: encode(question.delimiter) }),
      EncodingType: type,
      NextMarker: answer.next === null ? null : encode(answer.next),
      ...partsOf(request, answer, encode, true),
    }),
  }
}

const tokenOf = (after: string) => Buffer.from(after).toString('base64url')

function readToken(token: string): string {
  const after = Buffer.from(token, 'base64url').toString('utf8')
  if (token === '' || tokenOf(after) !== token) {
    throw new S3Error('InvalidArgument', { message: 'The continuation token is none that was given here.' })
  }
  return after
}

export const listV2: Operation = async request => {
  const { query, known, volume } = request
  const { type, encode } = encodingOf(request)
  const question = readQuestion(request)
  const token = query.get('continuation-token')
  const startAfter = query.get('start-after')
  const after = token === undefined ? (startAfter ?? '') : readToken(token)
  const answer = await listObjects(volume, { ...question, after })
  return {
    xml: writeXml('ListBucketResult', {
      Name: known.bucket,
      Prefix: encode(question.prefix),
      MaxKeys: question.keysMax,
      KeyCount: answer.objects.length + answer.prefixes.length,
      ...(question.delimiter !== '' && { Delimiter: encode(question.delimiter) }),
      EncodingType: type,
      ContinuationToken: token,
      StartAfter: startAfter === undefined ? null : encode(startAfter),
      NextContinuationToken: answer.next === null ? null : tokenOf(answer.next),
      ...partsOf(request, answer, encode, query.get('fetch-owner') === 'true'),
    }),
  }
}
