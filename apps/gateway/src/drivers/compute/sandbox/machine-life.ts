import type { Logger } from 'pino'
import { createKeyedQueue } from '../keyed-queue.ts'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { MachineListing, MachineSpec } from '../port/machines.ts'
import { givenGb } from '../volume-mounts.ts'
import { type AgentClient, createAgentClient } from './agent-client.ts'
import type { DiskRoom } from './disk-room.ts'
import type { DiskWriter } from './disk-watch.ts'
import { eraseWithPatience } from './erase-with-patience.ts'
import { isAlive, killProcess } from './host-process.ts'
import { aborted, abortedError, readFirstProcess, toComputeError } from './launch.ts'
import type { Limiter } from './limiter.ts'
import { createMachineStatus } from './machine-status.ts'
import type { MachineRecord, MachineState, MachineStore, ProcessIdentity } from './machine-store.ts'
import type { VolumeFolders } from './volume-folders.ts'

/** How long the kernel may take to end a killed machine. */
const KILL_TIMEOUT_MS = 10_000

/** How long a machine whose agent hung up has to be gone before it is watched again. */
const GONE_TIMEOUT_MS = 1_000

/** The signal of a caller that does not give up. */
const never = new AbortController().signal

/** The queue's key for starts that take a volume; no machine has such an id. */
const volumeKey = (id: string) => `.volume ${id}`

export interface LifeDeps {
  store: MachineStore
  limiter: Limiter
  folders: Pick<VolumeFolders, 'pathOf'>
  /**
   * Lays all that a new machine starts from, and gives what is to be remembered of it. What an earlier try left, and
   * perhaps not all of it, is no part of this machine.
   */
  make(spec: MachineSpec, signal: AbortSignal): Promise<MachineRecord>
  /** Starts the processes of a machine that does not run, and gives the first. */
  launch(id: string, record: MachineRecord, signal: AbortSignal): Promise<ProcessIdentity>
  /** Whether a machine, once started, has something that waits for its beginning. */
  waits(record: MachineRecord): boolean
  /** How long a machine has to end in good order after it was asked to. */
  graceMs: number
  /** What is left on the disk of all machines. */
  room(): Promise<DiskRoom>
  log: Logger
}

/** Makes, starts, stops and removes machines, one step at a time for each, and notices when one ends. */
export function createMachineLife(deps: LifeDeps) {
  const { store, limiter, log } = deps
  const queue = createKeyedQueue()
  const listeners = new Set<(id: string) => void>()
  const watches = new Map<string, { close(): void }>()
  const agentOf = (id: string) => createAgentClient(store.paths(id).run)
  const { firstProcess, status, ended } = createMachineStatus(store)

  async function create(spec: MachineSpec, signal: AbortSignal): Promise<void> {
    const before = await store.readRecord(spec.id)
    if (before) {
      const runs = (await firstProcess(spec.id)) !== null || (await takeOverUnrecorded(spec.id))
      // All that a start goes by is in the record; the home is not touched.
      if (!runs) await store.writeRecord(spec.id, { ...before, spec })
      return
    }
    if ((await store.traceOf(spec.id)) === 'half_removed') {
      throw new ComputeError('failed', 'the machine is being removed')
    }
    await store.writeRecord(spec.id, await deps.make(spec, signal))
  }

  async function start(id: string, signal: AbortSignal): Promise<void> {
    const record = await mustExist(id)
    if (await firstProcess(id)) return watchOver(id)
    if (await takeOverUnrecorded(id)) return
    if (signal.aborted) throw abortedError(signal)
    if ((await deps.room()).isShort) {
      throw new ComputeError('no_room', 'the disk of the machine’s computer is nearly full')
    }
    const launchAndRecord = async () => {
      await recordRunning(id, await deps.launch(id, record, signal), deps.waits(record))
    }
    // One after the other, so that no two machines start with one volume; in one order, so that none waits for ever.
    const volumes = new Set(record.spec.volumes?.map(volume => volume.id).sort())
    const inLine = [...volumes].reduce((next, id) => () => queue(volumeKey(id), next), launchAndRecord)
    await inLine()
  }

  async function stop(id: string, graceMs: number, signal: AbortSignal): Promise<void> {
    if (!(await store.readState(id)) && !(await takeOverUnrecorded(id))) return
    const running = await firstProcess(id)
    if (running) {
      if (graceMs > 0)
        await Promise.race([
          agentOf(id)
            .stop(graceMs)
            .catch(() => undefined),
          aborted(signal),
        ])
      if (!(await killProcess(running.process, KILL_TIMEOUT_MS))) {
        throw new ComputeError('failed', `process ${running.process.pid} of the machine does not end`)
      }
    }
    await recordStopped(id)
  }

  /** Ends a machine that takes the disk from all others; it is known why. */
  async function stopForDisk(id: string): Promise<void> {
    await stop(id, 0, never)
    await store.writeState(id, { phase: 'stopped', cause: 'disk_full' })
    tell(id)
  }

  async function recordRunning(id: string, first_process: ProcessIdentity, waits: boolean): Promise<void> {
    const started_at = new Date().toISOString()
    await store.writeState(id, { phase: 'running', first_process, started_at, waits })
    watchOver(id)
  }

  async function begin(id: string): Promise<void> {
    const state = await store.readState(id)
    const runs = state?.phase === 'running' && isAlive(state.first_process)
    if (!runs) throw new ComputeError('not_running', `${id} does not run`)
    if (!state.waits) return
    // The agent begins once, however often it is told.
    await agentOf(id).begin()
    await store.writeState(id, { ...state, waits: false })
  }

  type Stopped = Extract<MachineState, { phase: 'stopped' }>
  async function recordStopped(id: string, how: Stopped = { phase: 'stopped' }): Promise<void> {
    watches.get(id)?.close()
    watches.delete(id)
    await limiter.release(id)
    await store.writeState(id, how)
  }

  /**
   * Finds a machine that was started by a gateway that died before it wrote so down. Its agent's answer is
   * the proof: an agent lives exactly as long as the first process that its launcher named.
   */
  async function takeOverUnrecorded(id: string): Promise<boolean> {
    const agent = agentOf(id)
    const told = await agent.hello().catch(() => null)
    const first = told && readFirstProcess(store.paths(id).run)
    if (!first) return false
    await recordRunning(id, first, told.waits)
    log.info({ machine: id }, 'found a running machine that was not written down')
    return true
  }

  function watchOver(id: string): void {
    if (watches.has(id)) return
    watches.set(
      id,
      agentOf(id).watch({
        onCommandEnd: () => tell(id),
        onGone: () => {
          watches.delete(id)
          queue(id, () => noticeEnd(id)).catch(error =>
            log.warn({ err: error, machine: id }, 'lost sight of a machine'),
          )
        },
      }),
    )
  }

  /** Writes down that a machine ended by itself, once that is certain, and tells whoever watches. */
  async function noticeEnd(id: string): Promise<void> {
    const deadline = Date.now() + GONE_TIMEOUT_MS
    while (await firstProcess(id)) {
      if (Date.now() > deadline) return watchOver(id)
      await new Promise(resolve => setTimeout(resolve, 10))
    }
    try {
      if ((await store.readState(id))?.phase !== 'running') return
      await recordStopped(id, await ended(id))
      log.info({ machine: id }, 'the machine ended by itself')
    } finally {
      tell(id)
    }
  }

  function tell(id: string): void {
    for (const listener of listeners) listener(id)
  }

  async function mustExist(id: string): Promise<MachineRecord> {
    const record = MACHINE_ID_PATTERN.test(id) ? await store.readRecord(id) : null
    if (!record) throw new ComputeError('not_found', `no machine ${id}`)
    return record
  }

  /** Runs one step of a machine's life after those before it, unless the caller has given up by then. */
  function step(id: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    return queue(id, async () => {
      if (signal.aborted) throw abortedError(signal)
      await work().catch(error => {
        throw toComputeError(error)
      })
    })
  }

  return {
    status,
    mustExist,
    agentOf: (id: string): AgentClient => agentOf(id),
    create: (spec: MachineSpec, signal: AbortSignal) => step(spec.id, signal, () => create(spec, signal)),
    start: (id: string, signal: AbortSignal) => step(id, signal, () => start(id, signal)),
    stopForDisk: (id: string) => step(id, never, () => stopForDisk(id)),
    begin: (id: string, signal: AbortSignal) => step(id, signal, () => begin(id)),
    stop: async (id: string, signal: AbortSignal, { at_once = false }: { at_once?: boolean } = {}) => {
      if (!MACHINE_ID_PATTERN.test(id)) return
      await step(id, signal, () => stop(id, at_once ? 0 : deps.graceMs, signal))
    },
    remove: async (id: string, signal: AbortSignal) => {
      if (!MACHINE_ID_PATTERN.test(id)) return
      await step(id, signal, async () => {
        await stop(id, 0, signal)
        await limiter.release(id)
        await eraseWithPatience(store.remove(id), { signal, log, onLate: () => tell(id) })
      })
    },
    /** Does something with a machine that stays stopped meanwhile. Fails with `not_found`, and while it runs. */
    whileStopped: (id: string, signal: AbortSignal, work: () => Promise<void>) =>
      step(id, signal, async () => {
        await mustExist(id)
        if ((await firstProcess(id)) || (await takeOverUnrecorded(id)))
          throw new ComputeError('unsupported', 'the machine runs: it must be stopped first')
        await work()
      }),
    async list(): Promise<MachineListing[]> {
      const ids = await store.ids()
      return Promise.all(
        ids.map(async id => {
          const { state } = await status(id)
          // A folder without a record is what a crash left of a machine; listed, so that a sweep removes it.
          return { id, state: state === 'absent' ? ('created' as const) : state }
        }),
      )
    },
    /** Finds what an earlier gateway started and watches over it again. Returns the ids that run. */
    async takeOver(): Promise<string[]> {
      const ids = await store.ids()
      const running = await Promise.all(
        ids.map(id =>
          queue(id, async () => {
            if (await firstProcess(id)) {
              watchOver(id)
              agentOf(id)
                .hello()
                .catch(error =>
                  log.warn({ err: error, machine: id }, 'a running machine’s agent is not usable'),
                )
            } else if (!(await takeOverUnrecorded(id))) return []
            return [id]
          }),
        ),
      )
      return running.flat()
    },
    /** Machines that run, with the folders that they write to. */
    async writers(): Promise<DiskWriter[]> {
      const found = await Promise.all(
        (await store.ids()).map(async id => {
          const record = await store.readRecord(id)
          if (!record || !(await firstProcess(id))) return []
          const volumes = (record.spec.volumes ?? []).map(volume => deps.folders.pathOf(volume.id))
          return [{ id, dirs: [store.paths(id).dir, ...volumes], diskGb: givenGb(record.spec) }]
        }),
      )
      return found.flat()
    },
    watch(onChange: (id: string) => void): () => void {
      listeners.add(onChange)
      return () => listeners.delete(onChange)
    },
    /** Stops every machine that runs. Returns their ids. */
    async stopAll(): Promise<string[]> {
      const running = await this.takeOver()
      await Promise.all(running.map(id => step(id, never, () => stop(id, deps.graceMs, never))))
      await limiter.close()
      return running
    },
  }
}

export type MachineLife = ReturnType<typeof createMachineLife>
