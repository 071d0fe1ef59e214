import { duplexPair, Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../../platform/clock.ts'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { asFailure, readAnswer } from '../port/answers.ts'
import { ComputeError, type ComputeErrorCode } from '../port/compute-error.ts'
import type { Engine, EngineSize } from '../port/engine.ts'
import type { PullProgress } from '../port/images.ts'
import type { MachineSpec, MachineStatus, Machines } from '../port/machines.ts'
import type { MachineSample, Observation } from '../port/observation.ts'
import { createSessionHost, type SessionHost } from '../sessions/session-host.ts'
import { checkMounts } from '../volume-mounts.ts'
import { createFakeOwnImages } from './fake-images.ts'
import { createFakeSerial, type FakeSerial } from './fake-serial.ts'
import { openFakeShell } from './fake-shell.ts'
import { createFakeVolumes } from './fake-stores.ts'
import { createFaults, type Faults } from './faults.ts'

/** An engine for tests: machines are entries in memory, and every call can be told to fail or to hang. */
export interface FakeEngine extends Engine {
  faults: Faults
  /** Its machines, to be looked at. */
  held: ReadonlyMap<string, FakeMachine>
  /** Its volumes by their ids; a test may take one away or put one there behind everybody's back. */
  heldVolumes: Set<string>
  /** What they hold, in bytes; left out: nothing, endless: too much to count. */
  volumeBytes: Map<string, number>
  /** Calls that change a machine, in the order in which they began: `start i-abc`. */
  calls: string[]
  /** The most calls that were under way for one machine at the same time. */
  overlapMax(): number
  /** How long calls that change a machine take, in milliseconds; 0 unless a test says otherwise. */
  latencyMs: number
  /** Whether what it starts waits for `begin`; it does not unless a test says otherwise. */
  waitToBegin: boolean
  /** Whether images are here without a pull; they are unless a test says otherwise. */
  imagesHere: boolean
  /** How many bytes a machine has written when an image is made of it; 1,024 unless a test says otherwise. */
  imageBytes: number
  /** What pulls report, in this order. */
  pullReports: PullProgress[]
  /** What machines use: nothing is known of it unless a test says so. */
  uses: Map<string, Partial<MachineSample>>
  /** How many programs of machines were ended for want of memory: none unless a test says so. */
  oomKills: Map<string, number>
  /** The machine's command ends, and what follows is as its spec says; it is run again after `againS` seconds. */
  endCommand(id: string, exitCode: number, againS?: number): void
  /** The machine's processes end by themselves. */
  exit(id: string, exitCode: number): void
  /** Something makes a machine behind everybody's back. */
  plant(id: string, state: 'created' | 'running'): void
  /** Something removes a machine behind everybody's back. */
  lose(id: string): void
}

export interface FakeMachine {
  spec: MachineSpec | null
  status: Exclude<MachineStatus, { state: 'absent' }>
  /** What it keeps over stop and start: lost when it is removed. */
  home: Map<string, string>
  /** What its command wrote. */
  log?: string
  /** Its shells, which outlive the engine object that opened them; made for the first. */
  shells?: SessionHost
  /** Its serial line, likewise. */
  serial?: FakeSerial
}

const ANSWER_MS = 10_000
/** How often a pull that hangs says how far it is. */
const PULL_SAYS_MS = 50
const SIZE: EngineSize = { cpu_count: 8, memory_mb: 32_768, disk_gb: 500, gpus: [] }

/**
 * Makes a fake engine.
 * @param options.held The machines of an earlier one, as a restarted gateway would find them.
 */
export function createFakeEngine(options: {
  clock: Clock
  held?: ReadonlyMap<string, FakeMachine>
  size?: Partial<EngineSize>
  /** Which of several it is. */
  id?: string
  /** Whether several running machines may have one volume; left out: they may. */
  sharesVolumes?: boolean
  /** What its machines can be; pods unless told otherwise. */
  kinds?: Engine['kinds']
}): FakeEngine {
  const { clock, sharesVolumes = true } = options
  const held = new Map(options.held)
  const volumes = new Set<string>()
  const volumeBytes = new Map<string, number>()
  const watchers = new Set<(id: string) => void>()
  const faults = createFaults()
  const calls: string[] = []
  const pullReports: PullProgress[] = []
  const underWay = new Map<string, number>()
  let overlapMax = 0

  /** One call on a machine: counted, and made to fail or hang as the test wants. */
  async function call<T>(name: string, id: string, signal: AbortSignal | null, run: () => T): Promise<T> {
    if (signal?.aborted) throw new ComputeError('failed', 'the call was given up', { cause: signal.reason })
    calls.push(`${name} ${id}`)
    const count = (underWay.get(id) ?? 0) + 1
    underWay.set(id, count)
    overlapMax = Math.max(overlapMax, count)
    try {
      await faults.pass(name, signal)
      if (engine.latencyMs > 0) await sleep(engine.latencyMs, undefined, signal ? { signal } : {})
      return run()
    } finally {
      underWay.set(id, (underWay.get(id) ?? 1) - 1)
    }
  }

  function runningMachine(id: string): FakeMachine {
    const machine = held.get(id)
    if (!machine) throw new ComputeError('not_found', `no machine ${id}`)
    if (machine.status.state !== 'running') throw new ComputeError('not_running', `${id} does not run`)
    return machine
  }

  function shellsOf(machine: FakeMachine): SessionHost {
    machine.shells ??= createSessionHost({ open: openFakeShell, failureOf: asFailure })
    return machine.shells
  }

  function hangUp(machine: FakeMachine | undefined): void {
    machine?.shells?.closeAll()
    machine?.serial?.hangUp()
  }

  function end(id: string, exitCode: number | null, cause?: 'command_ended'): void {
    const machine = held.get(id)
    if (machine?.status.state !== 'running') return
    machine.status = { state: 'stopped', exit_code: exitCode, ...(cause && { cause }) }
    hangUp(machine)
    for (const watcher of watchers) watcher(id)
  }

  const machineCalls: Machines = {
    create: (spec, signal) =>
      call('create', spec.id, signal, () => {
        if (!MACHINE_ID_PATTERN.test(spec.id)) {
          throw new ComputeError('unsupported', `not a machine id: ${spec.id}`)
        }
        const machine = held.get(spec.id)
        if (machine?.status.state === 'running') return
        checkMounts(spec.volumes ?? [])
        const missing = spec.volumes?.find(volume => !volumes.has(volume.id))
        if (missing) throw new ComputeError('not_found', `no volume ${missing.id}`)
        if (machine) machine.spec = spec
        else held.set(spec.id, { spec, status: { state: 'created' }, home: new Map() })
      }),
    start: (id, signal) =>
      call('start', id, signal, () => {
        const machine = held.get(id)
        if (!machine) throw new ComputeError('not_found', `no machine ${id}`)
        if (machine.status.state === 'running') return
        const waits = engine.waitToBegin && machine.spec?.command
        machine.status = { state: 'running', started_at: clock.now(), ...(waits && { waits: true }) }
      }),
    get wait_to_begin() {
      return engine.waitToBegin
    },
    async probe(id, signal) {
      await faults.pass('probe', signal)
      runningMachine(id)
    },
    begin: (id, signal) =>
      call('begin', id, signal, () => {
        const { status } = runningMachine(id)
        if (status.state === 'running') delete status.waits
      }),
    stop: (id, signal) =>
      call('stop', id, signal, () => {
        const machine = held.get(id)
        if (machine?.status.state === 'running') machine.status = { state: 'stopped', exit_code: null }
        hangUp(machine)
      }),
    remove: (id, signal) =>
      call('remove', id, signal, () => {
        hangUp(held.get(id))
        held.delete(id)
      }),
    async list() {
      await faults.pass('list', null)
      return [...held].map(([id, { status }]) => ({ id, state: status.state }))
    },
  }

  const observation: Observation = {
    async status(id) {
      await faults.pass('status', null)
      return held.get(id)?.status ?? { state: 'absent' }
    },
    watch(onChange) {
      watchers.add(onChange)
      return () => watchers.delete(onChange)
    },
    async sample(id) {
      const { spec } = runningMachine(id)
      return {
        cpu_percent: null,
        memory_used_mb: null,
        memory_limit_mb: spec?.memory_mb ?? null,
        disk_used_mb: null,
        network_received_bytes: null,
        network_sent_bytes: null,
        network_at: null,
        gpus: spec?.gpu_uuids.length ? null : [],
        sampled_at: clock.now(),
        ...engine.uses.get(id),
      }
    },
    oom_kills: {
      count: async id => {
        runningMachine(id)
        return engine.oomKills.get(id) ?? 0
      },
    },
    async logs(id) {
      const machine = held.get(id)
      if (!machine) throw new ComputeError('not_found', `no machine ${id}`)
      return machine.log ?? ''
    },
    async followLogs(id) {
      if (!held.has(id)) throw new ComputeError('not_found', `no machine ${id}`)
      return Readable.from([], { objectMode: false })
    },
    async keptLog(id) {
      return Readable.from([Buffer.from(await observation.logs(id, { lines_max: 0 }))], { objectMode: false })
    },
    guest: {
      facts: async id => {
        runningMachine(id)
        return null
      },
    },
  }

  const engine: FakeEngine = {
    id: `fake:${options.id ?? 'one'}`,
    driver: 'fake',
    kinds: options.kinds ?? ['POD'],
    capabilities: {
      walls: 'none',
      isolation: 'None: nothing runs.',
      cpu_limit: { enforced: true, how: 'there is no CPU' },
      memory_limit: { enforced: true, how: 'there is no memory' },
      disk_limit: { enforced: false, why: 'the fake driver has no disk' },
      disk_rate_limit: { enforced: true, how: 'there is no disk' },
      network_rate_limit: { enforced: true, how: 'nothing is sent' },
      outbound_network: { offered: true, how: 'in name only' },
      egress_filter: { enforced: true, how: 'nothing is sent' },
      root_apart: { enforced: true, how: 'there is no root' },
      own_users: { enforced: true, how: 'there are no users' },
      ports_exposed: null,
    },
    faults,
    held,
    calls,
    latencyMs: 0,
    waitToBegin: false,
    imagesHere: true,
    imageBytes: 1_024,
    pullReports,
    uses: new Map(),
    oomKills: new Map(),
    overlapMax: () => overlapMax,
    exit: end,
    endCommand(id, exit_code, againS = 1) {
      const { spec, status } = runningMachine(id)
      if (status.state !== 'running' || !spec?.command) throw new Error(`${id} runs no command`)
      const rule = spec.on_command_end ?? 'keep'
      if (rule === 'stop') return end(id, exit_code, 'command_ended')
      const ended_at = clock.now()
      const again_at = rule === 'restart' ? new Date(ended_at.getTime() + againS * 1_000) : null
      status.command_end = { exit_code, ended_at, count: (status.command_end?.count ?? 0) + 1, again_at }
      for (const watcher of watchers) watcher(id)
    },
    plant(id, state) {
      const status = state === 'created' ? { state } : { state, started_at: clock.now() }
      held.set(id, { spec: null, status, home: new Map() })
    },
    lose(id) {
      held.delete(id)
    },

    async size() {
      await faults.pass('size', null)
      return { ...SIZE, ...options.size }
    },
    machines: machineCalls,
    images: {
      lackFor: () => null,
      async has() {
        await faults.pass('hasImage', null)
        return engine.imagesHere
      },
      async pull(image, onProgress, signal) {
        calls.push(`pull ${image.id}`)
        for (const report of pullReports) onProgress(report)
        // One that hangs goes on saying how far it is, as engines do.
        const last = pullReports.at(-1)
        const saying = setInterval(() => last && onProgress(last), PULL_SAYS_MS)
        await faults.pass('pull', signal).finally(() => clearInterval(saying))
      },
      own: createFakeOwnImages({ faults, held, writtenBytes: () => engine.imageBytes }),
      dockerfile: { lacks: 'Machines in memory run nothing.' },
    },
    heldVolumes: volumes,
    volumeBytes,
    volumes: createFakeVolumes({ faults, held, volumes, volumeBytes, shared: sharesVolumes, calls }),
    network: {
      async connect(id, port) {
        runningMachine(id)
        throw new ComputeError('port_closed', `nothing listens on ${port}`)
      },
      udp: { lacks: 'Nothing runs in a machine of the fake engine that could hear a datagram.' },
    },
    console: {
      shells_live: 'with_engine',
      async attach(id, session, { cols, rows, env = {} }) {
        await faults.pass('attach', null)
        const [line, far] = duplexPair()
        shellsOf(runningMachine(id)).serve(far, { op: 'attach', session, cols, rows, env })
        await readAnswer(line, ANSWER_MS)
        return line
      },
      async sessions(id) {
        return shellsOf(runningMachine(id)).names()
      },
      async closeSession(id, session) {
        const [line, far] = duplexPair()
        shellsOf(runningMachine(id)).serve(far, { op: 'close_session', session })
        await readAnswer(line, ANSWER_MS)
      },
      async exec(id, argv) {
        await faults.pass('exec', null)
        runningMachine(id)
        const [program, ...words] = argv
        if (program === 'true') return { exit_code: 0, stdout: '', stderr: '' }
        if (program === 'echo') return { exit_code: 0, stdout: `${words.join(' ')}\n`, stderr: '' }
        return { exit_code: 127, stdout: '', stderr: `${program}: not found\n` }
      },
      programs: { lacks: 'No program runs in a machine of the fake engine.' },
      serial: {
        async open(id) {
          const machine = runningMachine(id)
          machine.serial ??= createFakeSerial()
          return machine.serial.open()
        },
      },
    },
    observation,
    async shutdown(options) {
      if (options?.machines_stay) return []
      const running = [...held].filter(([, { status }]) => status.state === 'running')
      for (const [id] of running) end(id, null)
      return running.map(([id]) => id)
    },
  }
  return engine
}

/** A failure of the driver, as tests ask for it. */
export function computeFailure(code: ComputeErrorCode): ComputeError {
  return new ComputeError(code, `the fake driver failed with ${code}`)
}
