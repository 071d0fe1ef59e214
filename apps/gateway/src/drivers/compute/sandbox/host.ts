import { randomBytes } from 'node:crypto'
import { link, readFile, rm, statfs, writeFile } from 'node:fs/promises'
import { availableParallelism, totalmem } from 'node:os'
import { join } from 'node:path'
import { listNvidiaGpus } from '../nvidia.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { EngineSize } from '../port/engine.ts'

const HOST_ID_PATTERN = /^[0-9a-f]{16}$/
const BYTES_PER_MB = 1024 * 1024
const BYTES_PER_GB = 1024 * BYTES_PER_MB

/**
 * The id of a sandbox host: made once, and kept beside its machines, so that it goes where they go. Two gateways that
 * make it at the same time agree on one.
 */
export async function readHostId(dataDir: string): Promise<string> {
  const path = join(dataDir, 'host-id')
  const made = `${path}.${randomBytes(4).toString('hex')}`
  try {
    return await readId(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  await writeFile(made, `${randomBytes(8).toString('hex')}\n`, { mode: 0o600, flush: true })
  try {
    // A link is there whole or not at all, and never takes the place of another.
    await link(made, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(made, { force: true })
  }
  return readId(path)
}

async function readId(path: string): Promise<string> {
  const id = (await readFile(path, 'utf8')).trim()
  if (!HOST_ID_PATTERN.test(id)) throw new ComputeError('failed', `${path} holds no id of a sandbox host`)
  return id
}

/** What this computer has, on which all sandboxes run; `dataDir` is where it keeps them. */
export async function thisComputer(dataDir: string): Promise<EngineSize> {
  const [{ blocks, bsize }, gpus] = await Promise.all([statfs(dataDir), listNvidiaGpus()])
  return {
    cpu_count: availableParallelism(),
    memory_mb: Math.floor(totalmem() / BYTES_PER_MB),
    disk_gb: Math.floor((blocks * bsize) / BYTES_PER_GB),
    gpus,
  }
}
