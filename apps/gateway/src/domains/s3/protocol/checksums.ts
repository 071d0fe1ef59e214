import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { Crc64Nvme } from '@aws-sdk/crc64-nvme'
import { crc32c } from '@node-rs/crc32'
import { S3Error } from '../s3-error.ts'

/** By the names that headers have, such as `x-amz-checksum-crc32`. */
export const CHECKSUM_ALGORITHMS = ['crc32', 'crc32c', 'crc64nvme', 'sha1', 'sha256'] as const
export type ChecksumAlgorithm = (typeof CHECKSUM_ALGORITHMS)[number]

const BYTES: Record<ChecksumAlgorithm, number> = { crc32: 4, crc32c: 4, crc64nvme: 8, sha1: 20, sha256: 32 }

/** The header of a checksum. */
export const checksumHeader = (algorithm: ChecksumAlgorithm) => `x-amz-checksum-${algorithm}`

/** How long a checksum is in base64. */
export const checksumChars = (algorithm: ChecksumAlgorithm): number => 4 * Math.ceil(BYTES[algorithm] / 3)

/** A checksum under way. */
export interface Checksum {
  update(bytes: Uint8Array): void
  /** Of all that came, in base64. */
  digest(): Promise<string>
}

/** Begins a checksum. */
export function createChecksum(algorithm: ChecksumAlgorithm): Checksum {
  if (algorithm === 'crc32' || algorithm === 'crc32c') {
    let sum = 0
    const add =
      algorithm === 'crc32' ? crc32 : (bytes: Uint8Array, before: number) => crc32c(asBuffer(bytes), before)
    return {
      update(bytes) {
        sum = add(bytes, sum)
      },
      async digest() {
        const bytes = Buffer.alloc(4)
        bytes.writeUInt32BE(sum >>> 0)
        return bytes.toString('base64')
      },
    }
  }
  if (algorithm === 'crc64nvme') {
    const sum = new Crc64Nvme()
    return {
      update: bytes => sum.update(bytes),
      digest: async () => Buffer.from(await sum.digest()).toString('base64'),
    }
  }
  const hash = createHash(algorithm)
  return {
    update: bytes => void hash.update(bytes),
    digest: async () => hash.digest('base64'),
  }
}

/** Whether a text can be a checksum. */
export function isChecksum(algorithm: ChecksumAlgorithm, value: string): boolean {
  return /^[A-Za-z0-9+/]+={0,2}$/.test(value) && Buffer.from(value, 'base64').length === BYTES[algorithm]
}

/**
 * The checksum of an object that was put in parts, made of theirs.
 * @returns S3's form: the checksum of all checksums, and how many there were.
 */
export async function compositeOf(algorithm: ChecksumAlgorithm, parts: readonly string[]): Promise<string> {
  const sum = createChecksum(algorithm)
  for (const part of parts) sum.update(Buffer.from(part, 'base64'))
  return `${await sum.digest()}-${parts.length}`
}

/** The name of an algorithm as clients write it, such as `CRC32C`. @throws S3Error `InvalidRequest`. */
export function readAlgorithm(name: string): ChecksumAlgorithm {
  const found = CHECKSUM_ALGORITHMS.find(algorithm => algorithm === name.toLowerCase())
  if (found) return found
  throw new S3Error('InvalidRequest', { message: 'The checksum algorithm is not one of those of S3.' })
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
