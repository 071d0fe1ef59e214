import { statfs } from 'node:fs/promises'
import { release } from 'node:os'
import { type Disk, findDisk } from '../disk-rate.ts'
import { listNvidiaGpus } from '../nvidia.ts'
import type { EngineSize, RealGpu } from '../port/engine.ts'
import type { EngineInfo } from './docker-capabilities.ts'

const BYTES_PER_MB = 1024 * 1024
const BYTES_PER_GB = 1024 * BYTES_PER_MB

/**
 * What an engine's computer has, by what the engine tells of itself. Docker tells nothing of its disk and little of
 * its GPUs: for those the computer itself is asked, where the engine is on this one. A socket here may lead elsewhere,
 * into a virtual machine or through a tunnel: there another kernel runs.
 * @param hasSocketHere Whether the engine is reached by a socket of this computer.
 * @param listGpus Tells the GPUs of this computer.
 */
export async function sizeOf(
  info: EngineInfo,
  hasSocketHere: boolean,
  listGpus: () => Promise<RealGpu[]> = listNvidiaGpus,
): Promise<EngineSize> {
  const isHere = isOnThisComputer(info, hasSocketHere)
  return {
    cpu_count: info.NCPU,
    memory_mb: Math.floor(info.MemTotal / BYTES_PER_MB),
    disk_gb: isHere ? await diskGb(info.DockerRootDir) : null,
    gpus: isHere && info.Runtimes && 'nvidia' in info.Runtimes ? await listGpus() : [],
  }
}

/** Whether an engine runs on this computer's own kernel. */
export function isOnThisComputer(info: EngineInfo, hasSocketHere: boolean): boolean {
  return hasSocketHere && info.KernelVersion === release()
}

/**
 * The disk on which the engine keeps machines, where it can be seen from here and the kernel can limit its rate.
 * @returns The disk, or why its rate is not limited.
 */
export async function limitableDisk(
  info: EngineInfo,
  hasSocketHere: boolean,
): Promise<Disk | { why: string }> {
  if (!isOnThisComputer(info, hasSocketHere) || !info.DockerRootDir)
    return { why: 'Docker does not tell which disk its host keeps machines on' }
  if (info.SecurityOptions?.includes('name=rootless'))
    return { why: 'a rootless Docker may not limit the rate of a disk' }
  return findDisk(info.DockerRootDir).catch(() => ({ why: 'Docker’s folder cannot be seen from here' }))
}

/** Of the file system on which the engine keeps machines; null where it cannot be seen from here. */
async function diskGb(dir: string | undefined): Promise<number | null> {
  if (!dir) return null
  try {
    const { blocks, bsize } = await statfs(dir)
    return Math.floor((blocks * bsize) / BYTES_PER_GB)
  } catch {
    return null
  }
}
