import { statfs } from 'node:fs/promises'
import { release } from 'node:os'
import { listNvidiaGpus } from '../nvidia.ts'
import type { EngineSize } from '../port/engine.ts'
import type { EngineInfo } from './docker-capabilities.ts'

const BYTES_PER_MB = 1024 * 1024
const BYTES_PER_GB = 1024 * BYTES_PER_MB

/**
 * What an engine's computer has, by what the engine tells of itself. Docker tells nothing of its disk and little of
 * its GPUs: for those the computer itself is asked, where the engine is on this one. A socket here may lead elsewhere,
 * into a virtual machine or through a tunnel: there another kernel runs.
 * @param hasSocketHere Whether the engine is reached by a socket of this computer.
 */
export async function sizeOf(info: EngineInfo, hasSocketHere: boolean): Promise<EngineSize> {
  const isHere = hasSocketHere && info.KernelVersion === release()
  return {
    cpu_count: info.NCPU,
    memory_mb: Math.floor(info.MemTotal / BYTES_PER_MB),
    disk_gb: isHere ? await diskGb(info.DockerRootDir) : null,
    gpus: isHere && info.Runtimes && 'nvidia' in info.Runtimes ? await listNvidiaGpus() : [],
  }
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
