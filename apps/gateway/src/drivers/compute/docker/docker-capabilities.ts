import { type Disk, VERSION_1_LACKS } from '../disk-rate.ts'
import type { Capability } from '../port/capability.ts'
import type { ComputeCapabilities } from '../port/engine.ts'
import type { DiskBound, StorageTold } from './disk-bound.ts'
import { isolationBy, type RuntimesTold, wallsBy } from './docker-runtime.ts'

/** What the engine tells of itself, as far as it matters here. */
export interface EngineInfo extends RuntimesTold, StorageTold {
  /** The daemon's own: made once, and kept beside its images and containers. */
  ID: string
  NCPU: number
  MemTotal: number
  MemoryLimit: boolean
  CPUCfsQuota?: boolean
  CpuCfsQuota?: boolean
  OperatingSystem?: string
  DockerRootDir?: string
  /** As `uname -r` says it where the engine is. */
  KernelVersion?: string
  CgroupVersion?: string
  /** What the engine lacks, such as `WARNING: No blkio throttle.read_bps_device support`. */
  Warnings?: string[] | null
  /** Such as `name=userns`, and `name=rootless` where no part of the engine runs as root. */
  SecurityOptions?: string[]
}

/**
 * What machines on this engine are held to.
 * @param found.disk What they store on, as far as its rate can be limited.
 * @param found.diskBound By what its storage bounds them.
 * @param found.isWatched Whether the machine that takes most is stopped before the engine's disk is full.
 * @param found.runtime What runs them; undefined for the engine's own choice.
 */
export function capabilitiesOf(
  info: EngineInfo,
  {
    disk,
    diskBound,
    isWatched = false,
    runtime,
  }: { disk: Disk | { why: string }; diskBound: DiskBound; isWatched?: boolean; runtime: string | undefined },
): Omit<ComputeCapabilities, 'ports_exposed' | 'egress_filter'> {
  const how = `control groups, by Docker on ${info.OperatingSystem ?? 'its host'}`
  const quota = info.CPUCfsQuota ?? info.CpuCfsQuota
  return {
    walls: wallsBy(info, runtime),
    isolation: isolationBy(info, runtime),
    cpu_limit: quota
      ? { enforced: true, how }
      : { enforced: false, why: 'Docker’s host has no control group for processors' },
    memory_limit: info.MemoryLimit
      ? { enforced: true, how }
      : { enforced: false, why: 'Docker’s host has no control group for memory' },
    disk_limit:
      'why' in diskBound
        ? { enforced: false, why: `${diskBound.why}; ${isWatched ? WATCHED : UNWATCHED}` }
        : { enforced: true, how: diskBound.how },
    disk_rate_limit: diskRate(info, disk, how),
    network_rate_limit: { enforced: false, why: 'Docker bounds the rate of no network' },
    outbound_network: { offered: true, how: 'through Docker’s own network' },
    root_apart: rootApart(info.SecurityOptions ?? []),
    own_users: { enforced: true, how: 'the users that its image has' },
  }
}

const WATCHED = 'when the disk is nearly full, the machine that takes most of it is stopped'
const UNWATCHED = 'nobody watches that disk, since it cannot be seen from the gateway'

function diskRate(info: EngineInfo, disk: Disk | { why: string }, how: string): Capability {
  if ('why' in disk) return { enforced: false, why: disk.why }
  if (info.Warnings?.some(warning => /blkio throttle|io\.max/.test(warning)))
    return { enforced: false, why: 'Docker’s host has no control group for the rate of disks' }
  return info.CgroupVersion === '2' ? { enforced: true, how } : { enforced: false, why: VERSION_1_LACKS }
}

/** Docker maps users for all of its containers or for none; only its operator can say so. */
function rootApart(options: readonly string[]): Capability {
  const how = options.find(option => /^name=(userns|rootless)(,|$)/.test(option))
  if (how) return { enforced: true, how: 'users of Docker’s host that own nothing else (user namespaces)' }
  return {
    enforced: false,
    why:
      'Its root is root of Docker’s host, with few rights: Docker does not map users there ' +
      '(userns-remap in its daemon.json)',
  }
}
