import type Docker from 'dockerode'
import { ComputeError } from '../port/compute-error.ts'
import { type CountingGroups, groupMounts, groupsNamed } from '../samples/control-groups.ts'
import { createMachineSampler, type MachineSampler } from '../samples/machine-sampler.ts'
import { openProcess, type ProcessFolder } from '../samples/process-folder.ts'
import { readOrigin } from './container-plan.ts'

const BYTES_PER_MB = 1024 * 1024

type Sized = Docker.ContainerInspectInfo & { SizeRw?: number; SizeRootFs?: number }

/**
 * Measures containers: by the kernel's own counts where the engine runs on this kernel, elsewhere by what the engine tells.
 * @param talk Does something with a machine's container; it gives the port's own errors.
 * @param options.isHere Whether the engine is on this computer.
 */
export function createDockerSampler(
  talk: <T>(id: string, work: (container: Docker.Container) => Promise<T>) => Promise<T>,
  { isHere }: { isHere: boolean },
): MachineSampler {
  const mounts = isHere ? groupMounts() : null
  return createMachineSampler({
    hasGpusHere: isHere,
    find: id =>
      talk(id, async container => {
        const { Id, State, HostConfig } = await container.inspect()
        if (!State.Running) throw new ComputeError('not_running', `${id} does not run`)
        const kernel = mounts && kernelOf(State.Pid, groups => groupsNamed(groups, Id, mounts))
        return {
          groups: kernel?.groups ?? null,
          process: kernel?.process ?? null,
          memory_limit_mb: HostConfig.Memory ? HostConfig.Memory / BYTES_PER_MB : null,
          gpu_uuids: (HostConfig.DeviceRequests ?? []).flatMap(({ DeviceIDs }) => DeviceIDs ?? []),
        }
      }),
    ask: id => talk(id, askEngine),
    diskBytes: id => talk(id, writtenBytes),
    // It tells whether, and not how often.
    askOomKills: id => talk(id, async container => ((await container.inspect()).State.OOMKilled ? 1 : 0)),
  })
}

/** Null where the process with that id is not the container's: the engine may count processes of another kernel. */
function kernelOf(
  pid: number,
  groupsOf: (membership: string) => CountingGroups | null,
): { process: ProcessFolder; groups: CountingGroups } | null {
  const process = openProcess(pid)
  const groups = groupsOf(process?.groups() ?? '')
  if (process && groups) return { process, groups }
  process?.close()
  return null
}

async function askEngine(container: Docker.Container) {
  const { cpu_stats, memory_stats, networks } = await container.stats({ stream: false, 'one-shot': true })
  const { usage, stats } = memory_stats
  if (usage === undefined) throw new ComputeError('not_running', 'the machine stopped while it was measured')
  // The names of versions 1 and 2 of control groups for the file cache that the kernel would give up first.
  const cache = (stats as { total_inactive_file?: number; inactive_file?: number } | undefined) ?? {}
  return {
    cpuMs: cpu_stats.cpu_usage.total_usage / 1e6,
    memoryBytes: usage - (cache.total_inactive_file ?? cache.inactive_file ?? 0),
    network: {
      received: sum(Object.values(networks ?? {}).map(one => one.rx_bytes)),
      sent: sum(Object.values(networks ?? {}).map(one => one.tx_bytes)),
    },
  }
}

/** What a machine wrote to its container; the engine walks its files to add it up. */
async function writtenBytes(container: Docker.Container): Promise<number | null> {
  // The engine knows the option; the type declarations do not.
  const options = { size: true } as Docker.ContainerInspectOptions
  const { Config, SizeRw, SizeRootFs } = (await container.inspect(options)) as Sized
  if (SizeRw === undefined) return null
  // A container that was made anew has what its machine wrote before in its image.
  const imageBytes = readOrigin(Config.Labels)?.size_bytes ?? Number.POSITIVE_INFINITY
  return Math.max(SizeRw, (SizeRootFs ?? 0) - imageBytes)
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
