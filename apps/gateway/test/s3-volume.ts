import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeS3Key } from '@berth/contract/volume-s3'
import { createVolume, listVolumes } from '@berth/contract/volumes'
import { pino } from 'pino'
import { expect } from 'vitest'
import type { GatewayParts } from '../src/compose.ts'
import { eventually } from '../src/drivers/compute/conformance/tools.ts'
import { createSandboxEngine } from '../src/drivers/compute/sandbox/sandbox-engine.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

/** A volume, a key to it, and where its files lie. */
export interface S3Volume {
  endpoint: string
  bucket: string
  region: string
  accessKeyId: string
  secretAccessKey: string
  /** The folder of its files. */
  path: string
  id: string
}

export interface S3Gateway {
  gateway: TestGateway
  token: string
  userId: string
  endpoint: string
  /**
   * Another gateway of the same installation, with an S3 server of its own, which reaches no engine; it ends with this one.
   */
  other(): Promise<{ gateway: TestGateway; endpoint: string }>
  /** A new volume of a size in GB, with a key to it. */
  volume(options?: { sizeGb?: number; access?: 'read_write' | 'read_only' }): Promise<S3Volume>
  stop(): Promise<void>
}

/** A gateway with the S3 server in its process beside it, and volumes of the sandbox. */
export async function startS3Gateway(
  options: Partial<Pick<GatewayParts, 'clock' | 'graceMs' | 'sshPort'>> = {},
): Promise<S3Gateway> {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-s3-'))
  const engine = await createSandboxEngine({ dataDir, log: pino({ level: 'silent' }) })
  const gateway = await startGateway({ ...options, compute: engine, s3Port: 0 })
  const { token, userId } = await gateway.signUp()
  await gateway.grant(userId, 100_000)
  const endpointOf = (one: TestGateway) => `http://127.0.0.1:${one.gateway.s3?.port}`
  const endpoint = endpointOf(gateway)
  const others: TestGateway[] = []
  let made = 0
  return {
    gateway,
    token,
    userId,
    endpoint,
    async other() {
      const database = { ...gateway.database, close: async () => {} }
      const other = await startGateway({ ...options, database, engines: [], s3Port: 0 })
      others.push(other)
      return { gateway: other, endpoint: endpointOf(other) }
    },
    async volume({ sizeGb = 20, access = 'read_write' } = {}) {
      made += 1
      const body = { name: `volume-${made}`, region_code: 'us-west', size_gb: sizeGb }
      const { id, region_code } = await gateway.data(createVolume, { body }, { token })
      await eventually(async () => {
        const all = await gateway.data(listVolumes, { query: {} }, { token })
        expect(all.find(one => one.id === id)?.status).toBe('ready')
      })
      const key = await gateway.data(makeS3Key, { params: { id }, body: { access } }, { token })
      return {
        endpoint,
        bucket: id,
        region: region_code,
        accessKeyId: key.access_key_id,
        secretAccessKey: key.secret_access_key,
        path: join(dataDir, 'volumes', id, 'data'),
        id,
      }
    },
    async stop() {
      for (const other of others) await other.stop()
      await gateway.stop()
      await engine.shutdown()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
