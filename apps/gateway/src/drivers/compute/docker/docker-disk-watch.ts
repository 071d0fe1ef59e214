import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type Docker from 'dockerode'
import type { Logger } from 'pino'
import type { MachineStatus } from '../port/machines.ts'
import { type DiskRoom, diskRoom } from '../sandbox/disk-room.ts'
import { type DiskTaker, watchDisk } from '../watch-disk.ts'
import { createNames, DISK_LABEL, machineOf } from './container-plan.ts'
import type { EngineInfo } from './docker-capabilities.ts'
import { answeredWithin, isMissing, statusCodeOf } from './docker-errors.ts'

/** The engine walks all that is stored on it to add it up. */
const COUNT_TIMEOUT_MS = 120_000
/** After this long a machine is ended that does not end by the signal. */
const SIGNAL_TIMEOUT_MS = 2_000
const STATUS_CONFLICT = 409

/**
 * What a machine is ended by to keep a disk from being full: a signal that no program uses, so that the code that the engine
 * keeps says why, also to another gateway and to the next one.
 */
const DISK_FULL_SIGNAL = { name: 'SIGSTKFLT', number: 16 }
/** Of a process that a signal ended, as its init says it. */
const SIGNALLED_CODE = 128

/** What the engine tells of all that is stored on it. */
interface Stored {
  Containers:
    | {
        Id: string
        State: string
        SizeRw?: number
        Labels?: Record<string, string>
        Mounts?: { Name?: string }[]
      }[]
    | null
  Volumes: { Name: string; UsageData?: { Size: number } | null }[] | null
}

/**
 * How a container that does not run has stopped.
 * @param exitCode As the engine keeps it.
 * @param hasCommandEnded Whether it ended with its command, which may end with any code.
 */
export function howStopped(exitCode: number, hasCommandEnded: boolean): MachineStatus {
  if (hasCommandEnded) return { state: 'stopped', exit_code: exitCode, cause: 'command_ended' }
  if (exitCode === SIGNALLED_CODE + DISK_FULL_SIGNAL.number)
    return { state: 'stopped', exit_code: null, cause: 'disk_full' }
  return { state: 'stopped', exit_code: exitCode }
}

/**
 * Looks at the disk that an engine keeps machines on.
 * @returns Null where it cannot be seen from here: engines tell nothing of what is left.
 */
export async function dockerRoom(
  { DockerRootDir }: EngineInfo,
  { isHere, keptFreeMb }: { isHere: boolean; keptFreeMb: number | undefined },
): Promise<(() => Promise<DiskRoom>) | null> {
  if (!isHere || !DockerRootDir) return null
  const look = () => diskRoom(DockerRootDir, keptFreeMb)
  return look().then(
    () => look,
    () => null,
  )
}

/**
 * What a container's log takes, which is no part of what the engine adds up.
 * @param root The engine's own folder.
 * @returns In bytes; 0 where the files are closed to the gateway.
 */
export async function logBytes(root: string, containerId: string): Promise<number> {
  const folder = join(root, 'containers', containerId)
  const names = await readdir(folder).catch(() => [])
  const sizes = names
    .filter(name => name.startsWith(`${containerId}-json.log`))
    // One may be gone by now for the next one.
    .map(name =>
      stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    )
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

/** Keeps the machines of a cloud from filling the disk of an engine: the greediest is stopped before it is full. */
export function createDockerDiskWatch(deps: {
  docker: Docker
  cloudId: string
  /** The engine's own folder. */
  root: string
  room(): Promise<DiskRoom>
  log: Logger
}) {
  const { docker, cloudId, root, room, log } = deps
  // The client knows the option; the type declarations do not.
  const countAll = docker.df.bind(docker) as unknown as (options: {
    abortSignal: AbortSignal
  }) => Promise<Stored>

  /** Machines that run, with what they wrote to their containers, to volumes and to their logs. */
  async function takers(): Promise<DiskTaker[]> {
    const stored = await answeredWithin(COUNT_TIMEOUT_MS, countAll)
    const volumes = new Map(stored.Volumes?.map(({ Name, UsageData }) => [Name, UsageData?.Size ?? 0]))
    const found = (stored.Containers ?? []).map(async ({ Id, State, SizeRw = 0, Labels, Mounts = [] }) => {
      const id = machineOf(Labels, cloudId)
      if (id === null || State !== 'running') return []
      const inVolumes = Mounts.reduce((sum, { Name = '' }) => sum + Math.max(0, volumes.get(Name) ?? 0), 0)
      const taken = SizeRw + inVolumes + (await logBytes(root, Id))
      return [{ id, taken, diskGb: Number(Labels?.[DISK_LABEL] ?? 0) }]
    })
    return (await Promise.all(found)).flat()
  }

  async function stop(id: string): Promise<void> {
    const container = docker.getContainer(createNames(cloudId).container(id))
    try {
      await container.kill({ signal: DISK_FULL_SIGNAL.name })
      await answeredWithin(SIGNAL_TIMEOUT_MS, options => container.wait(options)).catch(() =>
        container.kill({ signal: 'SIGKILL' }),
      )
    } catch (error) {
      // It ended by itself, or was removed.
      if (!isMissing(error) && statusCodeOf(error) !== STATUS_CONFLICT) throw error
    }
  }

  return watchDisk({ log, room, takers, stop })
}
