import type { Duplex } from 'node:stream'
import type { MadeS3Key, S3KeyAccess, S3State, VolumeS3 } from '@berth/contract/volume-s3'
import type { Logger } from 'pino'
import { ComputeError } from '../../drivers/compute/port/compute-error.ts'
import { lackOf, offered } from '../../drivers/compute/port/part.ts'
import type { OpenDatabase } from '../../platform/database/open-database.ts'
import type { Gateways } from '../../platform/gateways/gateways.ts'
import { ApiError } from '../../platform/http/api-error.ts'
import type { OuterS3Place } from '../../platform/outer-s3/outer-s3.ts'
import { CUSTOMER_CHANNEL } from '../customers/customers.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { VOLUME_CHANNEL, type Volumes } from '../volumes/volumes.ts'
import type { KnownKey, KnownVolume, OuterVolume } from './gateway-side.ts'
import { createS3Beside } from './process/s3-beside.ts'
import { createS3Hops, type FarPlace } from './process/s3-hops.ts'
import { signingKey } from './protocol/signature.ts'
import { createS3Keys, S3_KEY_CHANNEL, type S3KeysDeps } from './s3-keys.ts'

const BYTES_PER_GB = 1024 ** 3
const DAY_MS = 86_400_000

interface S3Deps extends S3KeysDeps {
  log: Logger
  volumes: S3KeysDeps['volumes'] & Pick<Volumes, 'find' | 'isServable' | 'isReadOnly' | 'servedHere'>
  fleet: Pick<Fleet, 'of' | 'onChange'>
  gateways: Pick<Gateways, 'open' | 'serve'>
  listen: OpenDatabase['listen'] | null
  /** The interface of the S3 server; its port is named when it begins to listen. */
  host: string
  /** Where customers reach it, such as a proxy with TLS; null: the console's host, and the server's own port. */
  url: string | null
  /** Networks of proxies whose connections are many customers'. */
  trustedProxies: readonly string[]
  /** Where the console is found. */
  publicUrl(): string
  /** Has what comes on a stream of somebody's read in turns: bytes of a hop are work of the gateway's thread. */
  pace(of: string, stream: Duplex): Duplex
}

type FoundVolume = Pick<Awaited<ReturnType<Volumes['find']>>, 'engineId' | 'status'>

/** Where a volume's files lie, the gateway that reaches them, or why nobody does. */
type Place =
  | { path: string }
  | { outer: OuterVolume }
  | { gatewayId: string }
  | { state: S3State; why: string }

/** S3 access to network volumes (R2.25, R3.11): its keys, and the server, which is a process of its own. */
export function createS3(deps: S3Deps) {
  const { log, volumes, trustedProxies } = deps
  const keys = createS3Keys(deps)
  const hostName = deps.url === null ? null : new URL(deps.url).hostname
  const hops = createS3Hops({ log, gateways: deps.gateways, pace: deps.pace, placeHere })
  const beside = createS3Beside({
    log,
    hostName,
    trustedProxies,
    openHops: hops.open,
    gateway: {
      findKey,
      findVolume,
      noteUse: (accessKeyId, from) =>
        void keys
          .noteUse(accessKeyId, from)
          .catch(error => log.warn({ err: error }, 'the use of an S3 key could not be written down')),
    },
  })

  // Another gateway may reach a volume by now, or this one.
  deps.fleet.onChange(async () => beside.forgetVolumes())

  async function placeOf(id: string, found: FoundVolume): Promise<Place> {
    if (!volumes.isServable(found)) return { state: 'not_ready', why: 'the volume is not ready' }
    const at = deps.fleet.of(found)
    if (at.at === 'nowhere') return { state: 'elsewhere', why: at.why }
    if (at.at === 'elsewhere') return { gatewayId: at.gatewayId }
    const lack = lackOf(at.engine.volumes)
    if (lack !== null) return { state: 'not_files', why: lack }
    const store = offered(at.engine.volumes)
    try {
      if (store.objects) return { outer: toOuter(await store.objects.at(id), deps.clock.now()) }
      const folder = await store.folder(id)
      const why = lackOf(folder)
      return why === null ? offered(folder) : { state: 'not_files', why }
    } catch (error) {
      if (!(error instanceof ComputeError)) throw error
      return { state: 'elsewhere', why: error.message }
    }
  }

  /** How a volume is served here, for another gateway, whose customer it is. @throws ApiError `not_found`. */
  async function placeHere(userId: string, volumeId: string): Promise<FarPlace> {
    if (!beside.address()) return { state: 'elsewhere', why: 'the gateway that reaches it has no S3 server' }
    const place = await placeOf(volumeId, await volumes.find(userId, volumeId))
    if ('path' in place || 'outer' in place) return { state: 'served', why: '' }
    if ('gatewayId' in place) return { state: 'elsewhere', why: 'another gateway reaches it by now' }
    return place
  }

  /** How a volume is served, from whichever gateway was asked. */
  async function servedState(userId: string, volumeId: string, found: FoundVolume): Promise<FarPlace> {
    const place = await placeOf(volumeId, found)
    if ('path' in place || 'outer' in place) return { state: 'served', why: '' }
    if (!('gatewayId' in place)) return place
    return hops.placeAt(place.gatewayId, userId, volumeId).catch((error): FarPlace => {
      log.debug({ err: error }, 'a gateway that reaches a volume did not say how')
      return { state: 'elsewhere', why: 'the gateway that reaches it does not answer' }
    })
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
    return {
      userId: key.userId,
      bucket: key.volumeId,
      region: found.regionCode,
      signingKey: signingKey(key.secret, asked),
      access: key.access,
      endsMs: key.endsAt?.getTime() ?? null,
    }
  }

  /** What the server may know of the volume that a request's key reaches. */
  async function findVolume(asked: { userId: string; volumeId: string }): Promise<KnownVolume | null> {
    const found = await volumes.find(asked.userId, asked.volumeId).catch(whereGone)
    if (!found) return null
    const place = await placeOf(asked.volumeId, found)
    return {
      bucketMadeMs: found.createdAt.getTime(),
      place: 'state' in place ? { why: place.why } : place,
      isReadOnly: await volumes.isReadOnly(asked.volumeId),
      isOnlyOverSize: found.unpaidSince === null && found.readOnlySince !== null,
      counted:
        found.usedBytes === null || found.measuredAt === null
          ? null
          : { bytes: found.usedBytes, atMs: found.measuredAt.getTime() },
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
      const at = endpoint()
      const [{ state, why }, own] = await Promise.all([
        at === null ? { state: 'off' as const, why: '' } : servedState(userId, volumeId, found),
        keys.list(userId, volumeId),
      ])
      return {
        state,
        detail: why,
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
    /** Forgets keys that are over, and has leftovers removed in volumes of engines that this gateway looks after. */
    async purge(): Promise<void> {
      await keys.purge()
      if (!beside.address()) return
      const paths: string[] = []
      for (const served of await volumes.servedHere()) {
        const place = await placeOf(served.id, served)
        if ('path' in place) paths.push(place.path)
      }
      beside.sweep(paths)
    },

    /** Where the server listens; null where it does not. */
    address: beside.address,

    /** Begins to listen. @throws What the system says of the address. */
    serve: (port: number): Promise<void> => beside.listen(deps.host, port),

    /** Begins to hear of keys and volumes that change. @returns The way to stop. */
    async watch(): Promise<() => void> {
      if (!deps.listen) return () => {}
      const { listen } = deps
      const { forgetKeys, forgetVolumes } = beside
      const stops = await Promise.all([
        ...[S3_KEY_CHANNEL, CUSTOMER_CHANNEL].map(channel => listen(channel, forgetKeys, forgetKeys)),
        listen(
          VOLUME_CHANNEL,
          id => forgetVolumes(id),
          () => forgetVolumes(),
        ),
      ])
      return () => {
        for (const stop of stops) stop()
      }
    },

    /** Takes no new request. @returns Once what is under way has been answered, and the process has ended. */
    leave: beside.leave,

    /** Cuts what is left. */
    shutdown(): void {
      beside.shutdown()
      hops.close()
    },
  }
}

export type S3 = ReturnType<typeof createS3>

/** What signs for today and tomorrow, and not the secret. */
function toOuter({ secretAccessKey, ...place }: OuterS3Place & { bucket: string }, now: Date): OuterVolume {
  const dates = [0, DAY_MS].map(ms =>
    new Date(now.getTime() + ms).toISOString().slice(0, 10).replaceAll('-', ''),
  )
  const keys = dates.map(date => [date, signingKey(secretAccessKey, { date, region: place.region })] as const)
  return { ...place, signingKeys: Object.fromEntries(keys) }
}

function whereGone(error: unknown): null {
  if (error instanceof ApiError && error.code === 'not_found') return null
  throw error
}
