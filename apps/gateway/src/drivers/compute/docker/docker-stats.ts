import type Docker from 'dockerode'
import { createCpuMeter } from '../cpu-meter.ts'
import { sampleNvidiaGpus } from '../nvidia.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { GpuSample, MachineSample } from '../port/observation.ts'
import { readOrigin } from './container-plan.ts'

const BYTES_PER_MB = 1024 * 1024

/** The engine walks the machine's files to add up their size, so the sum is kept for a while. */
const DISK_FRESH_MS = 60_000

type Sized = Docker.ContainerInspectInfo & { SizeRw?: number; SizeRootFs?: number }

/** Measures containers by what the engine tells of them. Throws what dockerode throws. */
export function createDockerStats(isHere: boolean) {
  const cpu = createCpuMeter()
  const disks = new Map<string, { mb: number; at: number }>()

  async function diskMb(id: string, container: Docker.Container): Promise<number | null> {
    const known = disks.get(id)
    if (known && Date.now() - known.at < DISK_FRESH_MS) return known.mb
    // The engine knows the option; the type declarations do not.
    const options = { size: true } as Docker.ContainerInspectOptions
    const { Config, SizeRw, SizeRootFs } = (await container.inspect(options)) as Sized
    if (SizeRw === undefined) return null
    // A container that was made anew has what its machine wrote before in its image.
    const imageBytes = readOrigin(Config.Labels)?.size_bytes ?? Number.POSITIVE_INFINITY
    const mb = toMb(Math.max(SizeRw, (SizeRootFs ?? 0) - imageBytes))
    disks.set(id, { mb, at: Date.now() })
    return mb
  }

  /** Null where the cards are in a computer that nobody here can ask. */
  async function gpusOf(container: Docker.Container): Promise<GpuSample[] | null> {
    const { HostConfig } = await container.inspect()
    const uuids = (HostConfig.DeviceRequests ?? []).flatMap(({ DeviceIDs }) => DeviceIDs ?? [])
    if (uuids.length === 0) return []
    return isHere ? sampleNvidiaGpus(uuids) : null
  }

  return {
    async read(id: string, container: Docker.Container): Promise<MachineSample> {
      const [raw, disk_used_mb, gpus] = await Promise.all([
        container.stats({ stream: false, 'one-shot': true }),
        diskMb(id, container),
        gpusOf(container),
      ])
      const networks = Object.values(raw.networks ?? {})
      const { usage, limit, stats } = raw.memory_stats
      if (usage === undefined)
        throw new ComputeError('not_running', 'the machine stopped while it was measured')
      // The file cache that the kernel would give up first is not the machine's use; cgroup v1 and v2 names.
      const cache = (stats as { total_inactive_file?: number; inactive_file?: number } | undefined) ?? {}
      return {
        cpu_percent: cpu.percent(id, raw.cpu_stats.cpu_usage.total_usage / 1e6),
        memory_used_mb: toMb(usage - (cache.total_inactive_file ?? cache.inactive_file ?? 0)),
        memory_limit_mb: toMb(limit),
        disk_used_mb,
        network_received_bytes: sum(networks.map(one => one.rx_bytes)),
        network_sent_bytes: sum(networks.map(one => one.tx_bytes)),
        gpus,
        sampled_at: new Date(),
      }
    },
    forget(id: string): void {
      cpu.forget(id)
      disks.delete(id)
    },
  }
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}

function toMb(bytes: number): number {
  return Math.round((bytes / BYTES_PER_MB) * 10) / 10
}
