import type { MadeS3Key, S3KeyAccess, S3State, VolumeS3 } from '@berth/contract/volume-s3'
import type { Logger } from 'pino'
import { ComputeError } from '../../drivers/compute/port/compute-error.ts'
import { lackOf, offered } from '../../drivers/compute/port/part.ts'
import type { OpenDatabase } from '../../platform/database/open-database.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { VOLUME_CHANNEL, type Volumes } from '../volumes/volumes.ts'
import type { KnownKey } from './gateway-side.ts'
import { createS3Beside } from './process/s3-beside.ts'
import { signingKey } from './protocol/signature.ts'
import { createS3Keys, S3_KEY_CHANNEL, type S3KeysDeps } from './s3-keys.ts'

const BYTES_PER_GB = 1024 ** 3

interface S3Deps extends S3KeysDeps {
  log: Logger
  volumes: S3KeysDeps['volumes'] & Pick<Volumes, 'find' | 'isServable' | 'isReadOnly'>
  fleet: Pick<Fleet, 'of'>
  listen: OpenDatabase['listen'] | null
  /** The interface of the S3 server; its port is named when it begins to listen. */
  host: string
  /** Where customers reach it, such as a proxy with TLS; null: the console's host, and the server's own port. */
  url: string | null
  /** Networks of proxies whose connections are many customers'. */
  trustedProxies: readonly string[]
  /** Where the console is found. */
  publicUrl(): string
}

type FoundVolume = Awaited<ReturnType<Volumes['find']>>

/** S3 access to network volumes (R2.25, R3.11): its keys, and the server, which is a process of its own. */
export function createS3(deps: S3Deps) {
  const { log, volumes, trustedProxies } = deps
  const keys = createS3Keys(deps)
  const hostName = deps.url === null ? null : new URL(deps.url).hostname
  const beside = createS3Beside({
    log,
    hostName,
    trustedProxies,
    gateway: {
      findKey,
      noteUse: (accessKeyId, from) =>
        void keys
          .noteUse(accessKeyId, from)
          .catch(error => log.warn({ err: error }, 'the use of an S3 key could not be written down')),
    },
  })

  /** Where a volume's files lie, or why they are not to be had here. */
  async function placeOf(
    id: string,
    found: FoundVolume,
  ): Promise<{ path: string } | { state: S3State; why: string }> {
    if (!volumes.isServable(found)) return { state: 'not_ready', why: 'the volume is not ready' }
    const at = deps.fleet.of(found)
    if (at.at === 'nowhere') return { state: 'elsewhere', why: at.why }
    if (at.at === 'elsewhere') {
      return { state: 'elsewhere', why: `another gateway of this installation reaches it: ${at.gatewayId}` }
    }
    const lack = lackOf(at.engine.volumes)
    if (lack !== null) return { state: 'not_files', why: lack }
    try {
      const folder = await offered(at.engine.volumes).folder(id)
      const why = lackOf(folder)
      return why === null ? offered(folder) : { state: 'not_files', why }
    } catch (error) {
      if (!(error instanceof ComputeError)) throw error
      return { state: 'elsewhere', why: error.message }
    }
  }

  /** What the server may know of a key: nothing that signs for another day, and no other volume. */
  async function findKey(asked: {
    accessKeyId: string
    date: string
    region: string
  }): Promise<KnownKey | null> {
    const key = await keys.find(asked.accessKeyId)
    if (!key) return null
    const found = await volumes.find(key.userId, key.volumeId).catch(whereGone)
    if (!found) return null
    const place = await placeOf(key.volumeId, found)
    return {
      userId: key.userId,
      bucket: key.volumeId,
      bucketMadeMs: found.createdAt.getTime(),
      region: found.regionCode,
      signingKey: signingKey(key.secret, asked),
      access: key.access,
      endsMs: key.endsAt?.getTime() ?? null,
      place: 'path' in place ? { path: place.path } : { why: place.why },
      isReadOnly: await volumes.isReadOnly(key.volumeId),
      bytesMax: found.sizeGb * BYTES_PER_GB,
    }
  }

  /** Where customers speak S3; null where nobody listens. */
  function endpoint(): string | null {
    const address = beside.address()
    if (!address) return null
    if (deps.url !== null) return deps.url.replace(/\/$/, '')
    // It has no certificate of its own: who wants TLS puts something in front of it, and says where (`url`).
    return `http://${new URL(deps.publicUrl()).hostname}:${address.port}`
  }

  return {
    /** How a volume is reached by S3, and by which keys. @throws ApiError `not_found`. */
    async describe(userId: string, volumeId: string): Promise<VolumeS3> {
      const found = await volumes.find(userId, volumeId)
      const [place, own] = await Promise.all([placeOf(volumeId, found), keys.list(userId, volumeId)])
      const at = endpoint()
      const served = at === null ? { state: 'off' as const, why: '' } : place
      return {
        state: 'path' in served ? 'served' : served.state,
        detail: 'path' in served ? '' : served.why,
        endpoint: at,
        bucket: volumeId,
        region: found.regionCode,
        keys: own,
      }
    },

    /** @throws ApiError `not_found`, `s3_key_limit`. */
    make: (userId: string, volumeId: string, access: S3KeyAccess): Promise<MadeS3Key> =>
      keys.make(userId, volumeId, access),
    rotate: keys.rotate,
    revoke: keys.revoke,
    purge: keys.purge,

    /** Where the server listens; null where it does not. */
    address: beside.address,

    /** Begins to listen. @throws What the system says of the address. */
    serve: (port: number): Promise<void> => beside.listen(deps.host, port),

    /** Begins to hear of keys and volumes that change. @returns The way to stop. */
    async watch(): Promise<() => void> {
      if (!deps.listen) return () => {}
      const { listen } = deps
      const changed = () => beside.forgetKeys()
      const stops = await Promise.all(
        [S3_KEY_CHANNEL, VOLUME_CHANNEL].map(channel => listen(channel, changed, changed)),
      )
      return () => {
        for (const stop of stops) stop()
      }
    },

    /** Lets requests that are under way end, and ends the process. */
    shutdown: beside.shutdown,
  }
}

export type S3 = ReturnType<typeof createS3>

function whereGone(error: unknown): null {
  if (error instanceof ApiError && error.code === 'not_found') return null
  throw error
}
