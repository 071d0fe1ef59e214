import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { release, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { readNvidiaGpus } from '../nvidia.ts'
import type { EngineInfo } from './docker-capabilities.ts'
import { sizeOf } from './docker-size.ts'

const TOLD: EngineInfo = {
  ID: 'x',
  NCPU: 96,
  MemTotal: 512 * 1024 ** 3,
  MemoryLimit: true,
  // Is there on every computer, so its size could be taken for the engine's.
  DockerRootDir: '/',
  KernelVersion: release(),
  Runtimes: { nvidia: {} },
}
const GPU = { name: 'NVIDIA H100', memory_mb: 81_559, uuid: 'GPU-of-this-computer' }

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-size-'))
  const lines = `#!/bin/sh\necho '${GPU.name}, ${GPU.memory_mb}, ${GPU.uuid}'\n`
  writeFileSync(join(folder, 'nvidia-smi'), lines, { mode: 0o755 })
  vi.stubEnv('PATH', folder)
})
afterAll(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

test('processors and memory are what the engine tells; disk and GPUs here are looked at', async () => {
  // Read now: what was listed before is kept for a minute.
  const size = await sizeOf(TOLD, true, readNvidiaGpus)
  expect(size).toMatchObject({ cpu_count: 96, memory_mb: 524_288, gpus: [GPU] })
  expect(size.disk_gb).toBeGreaterThan(0)
})

const { KernelVersion: _, ...NAMELESS } = TOLD

test.each<[string, EngineInfo, boolean]>([
  ['by TCP or SSH', TOLD, false],
  ['by a socket here that leads to another computer', { ...TOLD, KernelVersion: '6.10.14-linuxkit' }, true],
  ['by a socket here, which does not tell its kernel', NAMELESS, true],
])('of an engine that is reached %s no figure is this computer’s', async (_name, told, hasSocketHere) => {
  const size = await sizeOf(told, hasSocketHere, readNvidiaGpus)
  expect(size).toEqual({ cpu_count: 96, memory_mb: 524_288, disk_gb: null, gpus: [] })
})
