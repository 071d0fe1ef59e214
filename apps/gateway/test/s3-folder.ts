import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KnownKey, KnownVolume } from '../src/domains/s3/gateway-side.ts'
import { createS3Server } from '../src/domains/s3/protocol/s3-server.ts'
import { signingKey } from '../src/domains/s3/protocol/signature.ts'
import type { S3Target } from './s3-conformance.ts'

const SECRET = 'a secret of this test alone'
const GB = 1024 ** 3

/** An S3 server over a folder, which a test may take away. */
export interface S3Folder extends S3Target {
  /** The folder of the volume's files. */
  path: string
  /** Removes what nobody completes, as if it were so many hours later. */
  sweepAfter(hours: number): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts the server in this process, with one key and one volume.
 * @param options.hostName The name below which each bucket has one of its own.
 */
export async function startS3Folder(
  options: { hostName?: string; bytesMax?: number } = {},
): Promise<S3Folder> {
  const path = mkdtempSync(join(tmpdir(), 'berth-s3-folder-'))
  const target = {
    region: 'us-west',
    bucket: 'v-folder',
    accessKeyId: 'BKIAFOLDERFOLDERFOLD',
    secretAccessKey: SECRET,
  }
  const known: Omit<KnownKey, 'signingKey'> = {
    userId: 'anna',
    bucket: target.bucket,
    region: target.region,
    access: 'read_write',
    endsMs: null,
  }
  const volume: KnownVolume = {
    bucketMadeMs: 0,
    place: { path },
    isReadOnly: false,
    isOnlyOverSize: false,
    counted: null,
    bytesMax: options.bytesMax ?? GB,
  }
  let aheadMs = 0
  const server = createS3Server({
    gateway: {
      findKey: async asked =>
        asked.accessKeyId === target.accessKeyId ? { ...known, signingKey: signingKey(SECRET, asked) } : null,
      findVolume: async () => volume,
      noteUse: () => undefined,
    },
    hostName: options.hostName ?? null,
    trustedProxies: [],
    openHop: () => {
      throw new Error('there is no other gateway')
    },
    now: () => Date.now() + aheadMs,
    log: () => undefined,
  })
  const { port } = await server.listen('127.0.0.1', 0)
  return {
    ...target,
    path,
    endpoint: `http://127.0.0.1:${port}`,
    async sweepAfter(hours) {
      aheadMs = hours * 3_600_000
      await server.sweep(path)
      aheadMs = 0
    },
    async stop() {
      await server.close()
      rmSync(path, { recursive: true, force: true })
    },
  }
}
