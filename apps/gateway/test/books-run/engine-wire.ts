import type { ChildProcess } from 'node:child_process'
import { createFakeEngine, type FakeEngine } from '../../src/drivers/compute/fake/fake-engine.ts'
import { ComputeError, type ComputeErrorCode } from '../../src/drivers/compute/port/compute-error.ts'
import type { Engine } from '../../src/drivers/compute/port/engine.ts'
import type { Clock } from '../../src/platform/clock.ts'

/*
 * One engine in the test's process, which gateways in processes of their own reach by messages: so that its machines
 * outlive a gateway that is killed, and what a dead one had asked for is done all the same.
 */

/** More than all machines of a run take. */
const SIZE = { cpu_count: 1e6, memory_mb: 1e9, disk_gb: 1e7, gpus: [] }
const SIGNAL = '(a signal)'
const FUNCTION = '(a function)'

/** The calls that go over the wire, by the part of the engine that they belong to. */
const PARTS = {
  machines: ['create', 'start', 'probe', 'begin', 'stop', 'remove', 'list'],
  observation: ['status', 'sample', 'logs'],
  volumes: ['make', 'grow', 'delete', 'measure', 'list'],
  copies: ['copy'],
  images: ['has', 'pull'],
} as const
type PartName = keyof typeof PARTS

/** What a gateway asks, and that it has given a call up. */
type Asked =
  | { engine: 'ask'; id: number; part: PartName; method: string; args: unknown[] }
  | { engine: 'abort'; id: number }

/** What it is answered, and told by itself. */
type Told =
  | { engine: 'answer'; id: number; value?: unknown; failure?: { code: ComputeErrorCode; message: string } }
  | { engine: 'changed'; machineId: string }

type AnyCall = (...args: unknown[]) => Promise<unknown>

function partOf(engine: Engine, part: PartName): Record<string, AnyCall> {
  const volumes = engine.volumes as unknown as Record<string, unknown>
  const found = part === 'copies' ? volumes.copies : engine[part]
  return found as Record<string, AnyCall>
}

/** Lets a gateway's process ask an engine of this one. */
export function serveEngine(engine: FakeEngine, child: ChildProcess): void {
  const underWay = new Map<number, AbortController>()
  const tell = (told: Told) => {
    // One that was killed hears nothing any more.
    if (child.connected) child.send(told, () => {})
  }
  const unwatch = engine.observation.watch(machineId => tell({ engine: 'changed', machineId }))
  child.once('exit', unwatch)
  child.on('message', async (asked: Asked) => {
    if (asked.engine === 'abort') return underWay.get(asked.id)?.abort()
    if (asked.engine !== 'ask') return
    const { id, part, method, args } = asked
    const controller = new AbortController()
    underWay.set(id, controller)
    const real = args.map(arg => (arg === SIGNAL ? controller.signal : arg === FUNCTION ? () => {} : arg))
    try {
      tell({ engine: 'answer', id, value: await partOf(engine, part)[method]?.(...real) })
    } catch (error) {
      const code = error instanceof ComputeError ? error.code : 'failed'
      tell({ engine: 'answer', id, failure: { code, message: String(error) } })
    } finally {
      underWay.delete(id)
    }
  })
}

/** The engine that the process which started this one serves. */
export function remoteEngine(clock: Clock): Engine {
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  const watchers = new Set<(id: string) => void>()
  let asks = 0
  process.on('message', (told: Told) => {
    if (told.engine === 'changed') for (const watcher of watchers) watcher(told.machineId)
    if (told.engine !== 'answer') return
    const { id, value, failure } = told
    const one = waiting.get(id)
    waiting.delete(id)
    if (failure) one?.reject(new ComputeError(failure.code, failure.message))
    else one?.resolve(value)
  })

  function ask(part: PartName, method: string, args: unknown[]): Promise<unknown> {
    const id = asks++
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    waiting.set(id, { resolve, reject })
    const wired = args.map(arg => {
      if (typeof arg === 'function') return FUNCTION
      if (!(arg instanceof AbortSignal)) return arg
      arg.addEventListener('abort', () => process.send?.({ engine: 'abort', id }), { once: true })
      return SIGNAL
    })
    process.send?.({ engine: 'ask', id, part, method, args: wired } satisfies Asked)
    return promise
  }
  const callsOf = (part: PartName) =>
    Object.fromEntries(PARTS[part].map(method => [method, (...args: unknown[]) => ask(part, method, args)]))

  // What says only what the engine is like is the same in each process.
  const local = createFakeEngine({ clock, size: SIZE })
  return {
    ...local,
    machines: { ...local.machines, ...callsOf('machines') },
    observation: {
      ...local.observation,
      ...callsOf('observation'),
      watch(onChange) {
        watchers.add(onChange)
        return () => watchers.delete(onChange)
      },
    },
    volumes: {
      ...local.volumes,
      ...callsOf('volumes'),
      copies: callsOf('copies'),
    } as unknown as Engine['volumes'],
    images: { ...local.images, ...callsOf('images'), own: { lacks: 'Images are not part of this run.' } },
    // Its machines stay when a gateway ends.
    shutdown: async () => [],
  }
}

/** The engine that is served. */
export function servedEngine(clock: Clock): FakeEngine {
  return createFakeEngine({ clock, size: SIZE })
}
