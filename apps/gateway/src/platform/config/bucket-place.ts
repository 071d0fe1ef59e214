import { isLoopback } from '../http/hosts.ts'

/** A bucket of a server that speaks S3, as a setting names it. */
export interface BucketSetting {
  readonly endpoint: string
  readonly region: string
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly bucket: string
  /** Empty, or ends with a slash. */
  readonly prefix: string
}

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const FOLDERS = /^([A-Za-z0-9][\w.-]{0,62}\/)*$/
const REGION_DEFAULT = 'us-east-1'

/**
 * Reads `s3+https://key:secret@host/bucket/folder?region=…`. Null for what is none: only a server on this computer is spoken
 * to without TLS.
 */
export function readBucketPlace(text: string): BucketSetting | null {
  if (!/^s3\+https?:\/\//i.test(text)) return null
  const url = URL.parse(text.slice('s3+'.length))
  if (!url?.username || url.password === '' || url.hash !== '') return null
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) return null
  const { region = REGION_DEFAULT, ...others } = Object.fromEntries(url.searchParams)
  if (Object.keys(others).length > 0 || !/^[a-z0-9-]{1,64}$/.test(region)) return null
  const [bucket = '', ...folders] = url.pathname.slice(1).split('/').filter(Boolean)
  const prefix = folders.map(folder => `${folder}/`).join('')
  if (!BUCKET.test(bucket) || !FOLDERS.test(prefix)) return null
  return {
    ...{ endpoint: url.origin, region, bucket, prefix },
    accessKeyId: decodeURIComponent(url.username),
    secretAccessKey: decodeURIComponent(url.password),
  }
}
