import { createHash } from 'node:crypto'
import type Docker from 'dockerode'
import { isLoopback } from '../../../platform/http/hosts.ts'
import { DISK_RATE_BYTES_PER_S } from '../disk-rate.ts'
import { SHELL_WORDS, UNNOTICED } from '../main-program.ts'
import type { MachineSpec } from '../port/machines.ts'
import { givenGb } from '../volume-mounts.ts'
import { boundedBytes, type DiskBound } from './disk-bound.ts'

/** Names the cloud that a container, network or saved image belongs to. */
export const CLOUD_LABEL = 'berth.cloud'
/** Under which earlier versions wrote the same. */
const FORMER_CLOUD_LABEL = 'berth.installation'
export const INSTANCE_LABEL = 'berth.instance'
/** The id of the image that was made of a machine: by it one is known that has no name yet. */
export const IMAGE_LABEL = 'berth.image'
/** What a container cannot take on without being made anew, as a digest. */
export const SHAPE_LABEL = 'berth.shape'
export const ORIGIN_LABEL = 'berth.origin'
/** The GB that a machine was given when its container was made; changing it later does not make another container. */
export const DISK_LABEL = 'berth.disk_gb'

/** Most processes and threads that a machine may have, against fork bombs. */
const PROCESSES_MAX = 4096
const BYTES_PER_MB = 1024 * 1024

/** Output kept of a machine's command: so many files of this size. */
const LOG_FILE_SIZE = '32m'
const LOG_FILES = '4'

/**
 * Rights that root in a container has by Docker's default and that no customer needs: raw packets (to spoof
 * neighbours), device nodes, and the means to give files or processes rights anew.
 */
const RIGHTS_DROPPED = ['NET_RAW', 'MKNOD', 'AUDIT_WRITE', 'SETFCAP', 'SETPCAP']

type Labels = Record<string, string> | null | undefined

/** Which machine of a cloud's a container or saved image is of; null where it is another's. */
export function machineOf(labels: Labels, cloudId: string): string | null {
  const cloud = labels?.[CLOUD_LABEL] ?? labels?.[FORMER_CLOUD_LABEL]
  // Empty on an image that was made from a machine and is no longer its own.
  return cloud === cloudId ? labels?.[INSTANCE_LABEL] || null : null
}

/** How the containers and the network of one cloud are called. */
export function createNames(cloudId: string) {
  return {
    network: `berth-${cloudId}`,
    container: (id: string) => `berth-${cloudId}-${id}`,
    /** A container whose place another is about to take. No machine id holds a dot. */
    before: (id: string) => `berth-${cloudId}-${id}.before`,
    /** The private image that holds a machine's files while its container is made anew, and under it later. */
    saved: (id: string) => ({ repo: `berth-${cloudId}`, tag: id }),
    volume: (id: string) => `berth-${cloudId}-${id}.volume`,
    /** It is there while the volume of that id is a copy that is not whole. */
    copying: (id: string) => `berth-${cloudId}-${id}.copying`,
    /** The container that keeps machines from private networks, and what it and relays are made from. */
    guard: `berth-${cloudId}.guard`,
    guardImage: { repo: `berth-${cloudId}.guard`, tag: '1' },
    /** The container by which a machine's loopback is reached. */
    relay: (id: string) => `berth-${cloudId}-${id}.relay`,
    /** What counts or copies a volume for a moment. */
    errand: (id: string) => `berth-${cloudId}-${id}.errand`,
    /** Never started: by it the engine says whether it bounds disks. */
    diskTrial: `berth-${cloudId}.disk-trial`,
    isVolume: (name: string) => name.startsWith(`berth-${cloudId}-`) && name.endsWith('.volume'),
  }
}

/** What a machine goes by of the image that it was first made from, however often its container is made anew. */
export interface ImageOrigin {
  entrypoint: string[]
  command: string[]
  /** `NAME=value` */
  env: string[]
  size_bytes: number
}

/** What passes from a container to the one that takes its place, beside its files. */
export interface Predecessor {
  id: string
  /** All layers of the image that holds its files. */
  imageBytes: number
  env: string[]
  user: string
  working_dir: string
  /** Volumes that its image declares: they belong to the machine. */
  has_volumes: boolean
  /** The same by name and place, where they must not come with what else it had attached; else null. */
  volumes: { name: string; path: string }[] | null
}

/**
 * The container of a machine. `origin` is what the engine knows of the machine's own image; `cpusMax` the
 * engine's own. With a predecessor, `imageRef` holds that one's files.
 */
export function planContainer(options: {
  spec: MachineSpec
  cloudId: string
  imageRef: string
  origin: ImageOrigin
  cpusMax: number
  publishAddress: string
  /** What runs the machine, by its name at the engine; left out for the engine's own choice. */
  runtime: string | undefined
  /** The disk that the engine keeps machines on; null where its rate is not limited. */
  diskNode: string | null
  diskBound: DiskBound
  predecessor?: Predecessor
  /** The environment of an image that was made from a machine: none of it but the origin's is wanted. */
  imageEnv?: string[]
}): Docker.ContainerCreateOptions {
  const { spec, cloudId, origin, publishAddress, runtime, predecessor } = options
  const names = createNames(cloudId)
  const ports = [
    ...[...new Set(spec.ports)].map(port => `${port}/tcp`),
    ...[...new Set(spec.udp_ports)].map(port => `${port}/udp`),
  ]
  const limits = planLimits(spec, options.cpusMax)
  const diskBytes = boundedBytes(options.diskBound, spec.disk_gb, {
    image: origin.size_bytes,
    before: predecessor?.imageBytes ?? null,
  })
  return {
    name: names.container(spec.id),
    Image: options.imageRef,
    Hostname: spec.hostname,
    Labels: {
      [CLOUD_LABEL]: cloudId,
      [INSTANCE_LABEL]: spec.id,
      [SHAPE_LABEL]: shapeOf(spec, options),
      [ORIGIN_LABEL]: JSON.stringify(origin),
      [DISK_LABEL]: String(givenGb(spec)),
    },
    Env: mergeEnv(origin.env, spec.env, predecessor?.env ?? options.imageEnv ?? []),
    ...(predecessor ? { User: predecessor.user, WorkingDir: predecessor.working_dir } : {}),
    Entrypoint: [...SHELL_WORDS, spec.command ? (spec.on_command_end ?? 'keep') : UNNOTICED],
    // The image's own entry point stays in front, as `docker run` would have it.
    Cmd: [...origin.entrypoint, ...(spec.command ?? origin.command)],
    ExposedPorts: Object.fromEntries(ports.map(port => [port, {}])),
    HostConfig: {
      Init: true,
      ...(runtime === undefined ? {} : { Runtime: runtime }),
      NetworkMode: names.network,
      PortBindings: Object.fromEntries(ports.map(port => [port, [{ HostIp: publishAddress, HostPort: '' }]])),
      ...limits,
      ...(diskBytes === null ? {} : { StorageOpt: { size: String(diskBytes) } }),
      ...planDiskRate(options.diskNode),
      // PyTorch's loaders exchange tensors through shared memory; Docker's own 64 MB are not enough for them.
      ShmSize: Math.floor(limits.Memory / 2),
      PidsLimit: PROCESSES_MAX,
      SecurityOpt: ['no-new-privileges'],
      CapDrop: RIGHTS_DROPPED,
      LogConfig: { Type: 'json-file', Config: { 'max-size': LOG_FILE_SIZE, 'max-file': LOG_FILES } },
      // Whether a machine comes back after a reboot is for the gateway to decide.
      RestartPolicy: { Name: 'no' },
      ...(spec.gpu_uuids.length > 0
        ? { DeviceRequests: [{ Driver: 'nvidia', DeviceIDs: spec.gpu_uuids, Capabilities: [['gpu']] }] }
        : {}),
      ...(predecessor?.has_volumes && !predecessor.volumes ? { VolumesFrom: [predecessor.id] } : {}),
      Mounts: [
        ...(spec.volumes ?? []).map(({ id, path, read_only }) => ({
          Type: 'volume' as const,
          Source: names.volume(id),
          Target: path,
          ReadOnly: read_only,
        })),
        ...(predecessor?.volumes ?? []).map(({ name, path }) => ({
          Type: 'volume' as const,
          Source: name,
          Target: path,
        })),
      ],
    },
  }
}

function planDiskRate(node: string | null) {
  if (node === null) return {}
  const rates = [{ Path: node, Rate: DISK_RATE_BYTES_PER_S }]
  return { BlkioDeviceReadBps: rates, BlkioDeviceWriteBps: rates }
}

/** The limits of a container: what can be changed while it exists. */
export function planLimits(spec: Pick<MachineSpec, 'cpu_count' | 'memory_mb'>, cpusMax: number) {
  const memory = spec.memory_mb * BYTES_PER_MB
  return {
    Memory: memory,
    MemorySwap: memory,
    NanoCpus: Math.round(Math.min(spec.cpu_count, cpusMax) * 1e9),
  }
}

/** A digest of all in a spec, and of the engine's own terms, that a container keeps for as long as it exists. */
export function shapeOf(
  spec: MachineSpec,
  terms: { publishAddress: string; runtime: string | undefined; diskBound: DiskBound },
): string {
  const { publishAddress, runtime, diskBound } = terms
  const shape = [
    spec.hostname,
    Object.entries(spec.env).sort(([a], [b]) => (a < b ? -1 : 1)),
    spec.command,
    [...new Set(spec.ports)].sort((a, b) => a - b),
    [...spec.gpu_uuids].sort(),
    // Left out where they are as they were always, so that the digests of earlier versions stay true.
    ...(isLoopback(publishAddress) ? [] : [publishAddress]),
    ...(spec.udp_ports?.length ? [{ udp: [...new Set(spec.udp_ports)].sort((a, b) => a - b) }] : []),
    ...(spec.command && (spec.on_command_end ?? 'keep') !== 'keep'
      ? [{ on_command_end: spec.on_command_end }]
      : []),
    ...(spec.volumes?.length ? [{ volumes: spec.volumes }] : []),
    ...(runtime === undefined ? [] : [{ runtime }]),
    ...('why' in diskBound ? [] : [{ disk_gb: spec.disk_gb }]),
  ]
  return createHash('sha256').update(JSON.stringify(shape)).digest('hex')
}

/** What the container's labels say of its machine's own image; null where they say nothing. */
export function readOrigin(labels: Record<string, string> | undefined): ImageOrigin | null {
  const text = labels?.[ORIGIN_LABEL]
  return text ? (JSON.parse(text) as ImageOrigin) : null
}

/**
 * The environment of a container: the image's, and the customer's over it. A saved image also holds what its
 * container had; such names are listed without a value, by which the engine takes them out.
 */
function mergeEnv(origin: string[], own: Record<string, string>, before: string[]): string[] {
  const merged = new Map(origin.map(entry => [nameOf(entry), entry]))
  for (const [name, value] of Object.entries(own)) merged.set(name, `${name}=${value}`)
  const gone = before.map(nameOf).filter(name => !merged.has(name))
  return [...merged.values(), ...new Set(gone)]
}

function nameOf(entry: string): string {
  return entry.split('=', 1)[0] ?? entry
}
