import { S3Error } from '../s3-error.ts'
import { S3_LIMITS } from '../s3-limits.ts'

/** Where S3 access keeps what is no object: half uploads, ETags, metadata. It is no key, and listed to nobody. */
export const OWN_FOLDER = '.berth-s3'

/** A key, as a file of a volume. */
export interface ObjectKey {
  readonly key: string
  /** Folders from the volume's root on. */
  readonly folders: readonly string[]
  /** The name of the file, or of the folder that an object such as `photos/` is. */
  readonly name: string
  /** Whether the key ends with a slash: the object is a folder, and has no bytes. */
  readonly isFolder: boolean
}

/**
 * Reads a key.
 * @throws S3Error `KeyTooLongError`, or `InvalidObjectName` for what cannot be a file, with the reason.
 */
export function readObjectKey(key: string): ObjectKey {
  if (Buffer.byteLength(key) > S3_LIMITS.keyBytesMax) throw new S3Error('KeyTooLongError')
  const isFolder = key.endsWith('/')
  const names = (isFolder ? key.slice(0, -1) : key).split('/')
  for (const name of names) {
    const why = whyNoName(name)
    if (why !== null) throw new S3Error('InvalidObjectName', { message: why })
  }
  if (names[0] === OWN_FOLDER) {
    throw new S3Error('InvalidObjectName', {
      message: `${OWN_FOLDER} is where S3 access keeps what is no object.`,
    })
  }
  const name = names.at(-1) ?? ''
  return { key, folders: names.slice(0, -1), name, isFolder }
}

/** Why a part of a key cannot be the name of a file; null where it can. */
function whyNoName(name: string): string | null {
  if (name === '')
    return 'An object is a file of the volume: no part of its name between slashes may be empty.'
  if (name === '.' || name === '..') {
    return `An object is a file of the volume: “${name}” leads elsewhere, and cannot be a part of its name.`
  }
  if (name.includes('\0')) return 'An object is a file of the volume: its name cannot have a zero byte.'
  if (Buffer.byteLength(name) > S3_LIMITS.nameBytesMax) {
    return `An object is a file of the volume: each part of its name has ${S3_LIMITS.nameBytesMax} bytes at most.`
  }
  return null
}
