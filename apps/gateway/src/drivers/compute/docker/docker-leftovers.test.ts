import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { smallMachine } from '../conformance/small-machine.ts'
import { eventually, never } from '../conformance/tools.ts'
import type { Engine } from '../port/engine.ts'
import { createNames } from './container-plan.ts'
import { createDockerEngine } from './docker-engine.ts'
import { startDockerd, type TestDaemon } from './dockerd-fixture.ts'
import { importTestImage } from './test-image.ts'

const CLOUD = 'leftovers'
const TEST_MS = 180_000
const TRIES_MAX = 8

const found = await startDockerd()
const missing = 'why' in found ? found.why : null
if (missing !== null) process.stdout.write(`SKIP a Docker Engine that is killed in a start: ${missing}\n`)

// Goal: what a killed engine forgets of a start is in nobody's way, and runs on for nobody. Method: a daemon of our own, which
// is killed when a start has got so far that the container's processes are there.
describe.skipIf(missing !== null)('a Docker Engine that is killed in a start', () => {
  const daemon = found as TestDaemon
  let engine: Engine
  let image: string
  beforeAll(async () => {
    image = await importTestImage(daemon.docker)
    const place = { kind: 'unix' as const, socket_path: daemon.socket_path }
    engine = await createDockerEngine({
      place,
      cloudId: CLOUD,
      egress: null,
      log: pino({ level: 'silent' }),
    })
  }, TEST_MS)
  afterAll(async () => {
    await engine?.shutdown()
    await daemon.remove()
  }, TEST_MS)

  const specOf = (id: string) =>
    smallMachine(id, { id: 'small', parts: { docker: image } }, { command: ['sleep', '1000'] })

  /**
   * Kills the engine as soon as a start has made processes, and starts it again. Where the start was quicker, or nothing was
   * left, that is done again.
   * @returns The container's id.
   */
  async function killInStart(id: string): Promise<string> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      await engine.machines.create(specOf(id), never)
      const { Id } = await daemon.docker.getContainer(createNames(CLOUD).container(id)).inspect()
      const starting = engine.machines.start(id, never).catch(error => error.code)
      await eventually(() => expect(processesOf(Id).some(({ isInside }) => isInside)).toBe(true))
      await daemon.kill()
      const said = await starting
      await daemon.start()
      if (said === 'engine_unavailable' && processesOf(Id).length > 0) return Id
      await engine.machines.remove(id, never)
    }
    throw new Error('no start was cut off')
  }

  test(
    '[B1] a machine whose start was cut off starts, also by a gateway that knows nothing of it, and no second one runs',
    async () => {
      const container = await killInStart('again')
      await engine.machines.start('again', never)
      expect(await engine.observation.status('again')).toMatchObject({ state: 'running' })
      const heads = processesOf(container).filter(({ words }) => words[0]?.endsWith('docker-init'))
      expect(heads).toHaveLength(1)
      await engine.machines.remove('again', never)
      await eventually(() => expect(processesOf(container)).toEqual([]))
    },
    TEST_MS,
  )

  test(
    '[B1] a machine starts whose start was cut off before its first process, and of which the engine keeps a folder for ever',
    async () => {
      await engine.machines.create(specOf('folder'), never)
      await engine.machines.start('folder', never)
      const { Id } = await daemon.docker.getContainer(createNames(CLOUD).container('folder')).inspect()
      await daemon.kill()
      // As it is found where the kill comes some 20 ms after the call, which only chance would repeat: nothing runs, and
      // neither the engine's program for machines nor what it is called by was there yet.
      for (const { pid } of processesOf(Id)) endProcess(pid)
      await eventually(() => expect(processesOf(Id)).toEqual([]))
      rmSync(join(daemon.dir, STARTS, Id, 'runtime'))
      rmSync(join(daemon.dir, MADE, Id), { recursive: true })
      await daemon.start()
      await engine.machines.start('folder', never)
      expect(await engine.observation.status('folder')).toMatchObject({ state: 'running' })
      await engine.machines.remove('folder', never)
    },
    TEST_MS,
  )

  test(
    '[B2] before it is said not to run, and before it is removed, what was left of it is ended',
    async () => {
      const looked = await killInStart('looked')
      expect((await engine.observation.status('looked')).state).not.toBe('running')
      expect(processesOf(looked)).toEqual([])
      const removed = await killInStart('removed')
      await engine.machines.remove('removed', never)
      expect(processesOf(removed)).toEqual([])
      await engine.machines.remove('looked', never)
      const ids = (await engine.machines.list()).map(({ id }) => id)
      expect(ids.filter(id => id === 'looked' || id === 'removed')).toEqual([])
    },
    TEST_MS,
  )
})

/** Where a daemon of a test keeps what it knows of starts, and its program for machines what it has made. */
const STARTS = 'exec/containerd/daemon/io.containerd.runtime.v2.task/moby'
const MADE = 'exec/runtime-runc/moby'

/** What runs of a container on this computer, and what holds it for the engine, whoever knows of it. */
function processesOf(containerId: string): { pid: number; words: string[]; isInside: boolean }[] {
  return readdirSync('/proc').flatMap(pid => {
    if (!/^\d+$/.test(pid)) return []
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      const isHolder = words[0]?.includes('containerd-shim') && words.includes(containerId)
      const isInside = readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(containerId)
      return isHolder || isInside ? [{ pid: Number(pid), words, isInside }] : []
    } catch {
      return []
    }
  })
}

/** One that has ended meanwhile is as well. */
function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
