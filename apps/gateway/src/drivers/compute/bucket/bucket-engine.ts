import { randomUUID } from 'node:crypto'
import { createOuterS3, type OuterS3Place } from '../../../platform/outer-s3/outer-s3.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { ComputeCapabilities, Engine } from '../port/engine.ts'
import { createBucketVolumes } from './bucket-volumes.ts'

const ID = /^[0-9a-f-]{36}$/
const NO_MACHINES = 'This is a server of objects: it keeps volumes, and makes no machines.'
const NO_LIMIT = { enforced: false, why: 'it makes no machines' } as const

const CAPABILITIES: ComputeCapabilities = {
  walls: 'none',
  isolation: NO_MACHINES,
  cpu_limit: NO_LIMIT,
  memory_limit: NO_LIMIT,
  disk_limit: NO_LIMIT,
  disk_rate_limit: NO_LIMIT,
  network_rate_limit: NO_LIMIT,
  outbound_network: { offered: false, why: 'it makes no machines' },
  egress_filter: NO_LIMIT,
  root_apart: NO_LIMIT,
  own_users: NO_LIMIT,
  ports_exposed: null,
}

/**
 * Opens a server that speaks S3 as an engine that keeps volumes and makes no machines.
 * @param place.bucket A bucket that is there: it keeps which engine this is, and the buckets of volumes are named after it.
 * @throws ComputeError `engine_unavailable`.
 */
export async function createBucketEngine(
  place: OuterS3Place & { bucket: string },
  { now = Date.now }: { now?: () => number } = {},
): Promise<Engine> {
  const s3 = createOuterS3(place)
  const id = await idOf(s3, place.bucket)
  const none = () => Promise.reject(new ComputeError('unsupported', NO_MACHINES))
  const lacks = { lacks: NO_MACHINES }
  return {
    id: `bucket:${id}`,
    driver: 'bucket',
    kinds: [],
    capabilities: CAPABILITIES,
    async size() {
      if ((await idOf(s3, place.bucket)) !== id)
        throw new ComputeError('engine_unavailable', 'the bucket is another one by now')
      return { cpu_count: 0, memory_mb: 0, disk_gb: null, gpus: [] }
    },
    machines: {
      wait_to_begin: false,
      ...{ create: none, start: none, probe: none, begin: none, stop: none },
      remove: async () => {},
      list: async () => [],
    },
    images: {
      lackFor: () => NO_MACHINES,
      has: async () => false,
      pull: none,
      own: lacks,
      dockerfile: lacks,
    },
    volumes: createBucketVolumes(s3, place, now),
    network: { connect: none, udp: lacks },
    console: {
      shells_live: 'with_engine',
      attach: none,
      sessions: async () => [],
      closeSession: async () => {},
      exec: none,
      programs: lacks,
      serial: lacks,
    },
    observation: {
      status: async () => ({ state: 'absent' }),
      watch: () => () => {},
      ...{ sample: none, logs: none, followLogs: none, keptLog: none },
      oom_kills: lacks,
      guest: lacks,
    },
    shutdown: async () => [],
  }
}

/** The id that stands in its bucket, whatever address it is reached by. Where there is none, one is written, by one gateway. */
async function idOf(s3: ReturnType<typeof createOuterS3>, bucket: string): Promise<string> {
  const key = 'engine-id'
  try {
    const found = await s3.read(bucket, key)
    if (!found) {
      // Of two that write, the other one is refused, and reads.
      await s3.write(bucket, key, randomUUID(), { ifNew: true }).catch(() => undefined)
    }
    const id = (found ?? (await s3.read(bucket, key)))?.toString('utf8') ?? ''
    if (!ID.test(id)) throw new Error(`${bucket}/${key} does not hold an id`)
    return id
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new ComputeError('engine_unavailable', `the S3 server does not answer: ${why}`, { cause })
  }
}
