import { open } from 'node:fs/promises'
import { ComputeError } from '../port/compute-error.ts'

/** What a file is as a disk. */
export interface DiskFacts {
  format: 'raw' | 'qcow2'
  /** The disk's size, which is not the file's. */
  bytes: number
}

const HEADER_BYTES = 80
const MAGIC = Buffer.from('QFI\xfb', 'latin1')
const AT = { version: 4, backing: 8, size: 24, encryption: 32, features: 72 }
/** What is stored lies in another file. */
const ELSEWHERE = 1n << 2n

/**
 * Looks at a file that is to be a disk. One that leads to other files is refused: it would show a machine what lies on
 * this computer.
 * @throws ComputeError `image_unavailable`.
 */
export async function readDiskFacts(path: string): Promise<DiskFacts> {
  const file = await open(path, 'r')
  try {
    const { buffer: header } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0)
    if (!header.subarray(0, MAGIC.length).equals(MAGIC)) {
      return { format: 'raw', bytes: (await file.stat()).size }
    }
    const version = header.readUInt32BE(AT.version)
    const features = version >= 3 ? header.readBigUInt64BE(AT.features) : 0n
    const leadsAway = header.readBigUInt64BE(AT.backing) !== 0n || (features & ELSEWHERE) !== 0n
    if (leadsAway) refuse('the disk leads to another file')
    if (header.readUInt32BE(AT.encryption) !== 0) refuse('the disk is encrypted')
    return { format: 'qcow2', bytes: Number(header.readBigUInt64BE(AT.size)) }
  } finally {
    await file.close()
  }
}

function refuse(why: string): never {
  throw new ComputeError('image_unavailable', why)
}
