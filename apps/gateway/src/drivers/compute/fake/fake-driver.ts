import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../../platform/clock.ts'
import {
  type ComputeDriver,
  ComputeError,
  type ComputeErrorCode,
  type MachineSpec,
  type MachineStatus,
  type PullProgress,
  type RealGpu,
} from '../port.ts'
import { createFaults, type Faults } from './faults.ts'

/** A driver for tests: machines are entries in memory, and every call can be told to fail or to hang. */
export interface FakeDriver extends ComputeDriver {
  faults: Faults
  machines: ReadonlyMap<string, FakeMachine>
  /** Calls that change a machine, in the order in which they began: `start i-abc`. */
  calls: string[]
  /** The most calls that were under way for one machine at the same time. */
  overlapMax(): number
  /** How long calls that change a machine take, in milliseconds; 0 unless a test says otherwise. */
  latencyMs: number
  /** Whether images are here without a pull; they are unless a test says otherwise. */
  imagesHere: boolean
  /** What pulls report, in this order. */
  pullReports: PullProgress[]
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
}

const MACHINE_ID = /^[a-z0-9][a-z0-9-]{0,39}$/

/**
 * Makes a fake driver.
 * @param options.machines Those of an earlier driver, as a restarted gateway would find them.
 */
export function createFakeDriver(options: {
  clock: Clock
  machines?: ReadonlyMap<string, FakeMachine>
  gpus?: RealGpu[]
}): FakeDriver {
  const { clock } = options
  const machines = new Map(options.machines)
  const watchers = new Set<(id: string) => void>()
  const faults = createFaults()
  const calls: string[] = []
  const pullReports: PullProgress[] = []
  const underWay = new Map<string, number>()
  let overlapMax = 0

  /** One call on a machine: counted, and made to fail or hang as the test wants. */
  async function call<T>(name: string, id: string, signal: AbortSignal | null, run: () => T): Promise<T> {
    calls.push(`${name} ${id}`)
    const count = (underWay.get(id) ?? 0) + 1
    underWay.set(id, count)
    overlapMax = Math.max(overlapMax, count)
    try {
      await faults.pass(name, signal)
      if (driver.latencyMs > 0) await sleep(driver.latencyMs, undefined, signal ? { signal } : {})
      return run()
    } finally {
      underWay.set(id, (underWay.get(id) ?? 1) - 1)
    }
  }

  function runningMachine(id: string): FakeMachine {
    const machine = machines.get(id)
    if (!machine) throw new ComputeError('not_found', `no machine ${id}`)
    if (machine.status.state !== 'running') throw new ComputeError('not_running', `${id} does not run`)
    return machine
  }

  function end(id: string, exitCode: number | null): void {
    const machine = machines.get(id)
    if (machine?.status.state !== 'running') return
    machine.status = { state: 'stopped', exit_code: exitCode }
    for (const watcher of watchers) watcher(id)
  }

  const driver: FakeDriver = {
    name: 'fake',
    capabilities: {
      isolation: 'None: nothing runs.',
      cpu_limit: { enforced: true, how: 'there is no CPU' },
      memory_limit: { enforced: true, how: 'there is no memory' },
      disk_limit: { enforced: false, why: 'the fake driver has no disk' },
      outbound_network: true,
    },
    faults,
    machines,
    calls,
    latencyMs: 0,
    imagesHere: true,
    pullReports,
    overlapMax: () => overlapMax,
    exit: end,
    plant(id, state) {
      const status = state === 'created' ? { state } : { state, started_at: clock.now() }
      machines.set(id, { spec: null, status, home: new Map() })
    },
    lose(id) {
      machines.delete(id)
    },

    gpus: async () => options.gpus ?? [],
    async hasImage() {
      await faults.pass('hasImage', null)
      return driver.imagesHere
    },
    async pull(image, onProgress, signal) {
      calls.push(`pull ${image.id}`)
      for (const report of pullReports) onProgress(report)
      await faults.pass('pull', signal)
    },
    create: (spec, signal) =>
      call('create', spec.id, signal, () => {
        if (!MACHINE_ID.test(spec.id)) throw new ComputeError('unsupported', `not a machine id: ${spec.id}`)
        const machine = machines.get(spec.id)
        if (machine?.status.state === 'running') return
        if (machine) machine.spec = spec
        else machines.set(spec.id, { spec, status: { state: 'created' }, home: new Map() })
      }),
    start: (id, signal) =>
      call('start', id, signal, () => {
        const machine = machines.get(id)
        if (!machine) throw new ComputeError('not_found', `no machine ${id}`)
        if (machine.status.state !== 'running') machine.status = { state: 'running', started_at: clock.now() }
      }),
    stop: (id, signal) =>
      call('stop', id, signal, () => {
        const machine = machines.get(id)
        if (machine?.status.state === 'running') machine.status = { state: 'stopped', exit_code: null }
      }),
    remove: (id, signal) =>
      call('remove', id, signal, () => {
        machines.delete(id)
      }),
    async status(id) {
      await faults.pass('status', null)
      return machines.get(id)?.status ?? { state: 'absent' }
    },
    async list() {
      await faults.pass('list', null)
      return [...machines].map(([id, { status }]) => ({ id, state: status.state }))
    },
    watch(onChange) {
      watchers.add(onChange)
      return () => watchers.delete(onChange)
    },
    async openPty() {
      throw new ComputeError('unsupported', 'the fake driver has no shell')
    },
    async exec(id, argv) {
      await faults.pass('exec', null)
      runningMachine(id)
      const [program, ...words] = argv
      if (program === 'true') return { exit_code: 0, stdout: '', stderr: '' }
      if (program === 'echo') return { exit_code: 0, stdout: `${words.join(' ')}\n`, stderr: '' }
      return { exit_code: 127, stdout: '', stderr: `${program}: not found\n` }
    },
    async connect(id, port) {
      runningMachine(id)
      throw new ComputeError('port_closed', `nothing listens on ${port}`)
    },
    async stats(id) {
      const { spec } = runningMachine(id)
      return {
        cpu_percent: null,
        memory_used_mb: null,
        memory_limit_mb: spec?.memory_mb ?? null,
        disk_used_mb: null,
        sampled_at: clock.now(),
      }
    },
    async logs(id) {
      if (!machines.has(id)) throw new ComputeError('not_found', `no machine ${id}`)
      return ''
    },
    async shutdown() {
      const running = [...machines].filter(([, { status }]) => status.state === 'running')
      for (const [id] of running) end(id, null)
      return running.map(([id]) => id)
    },
  }
  return driver
}

/** A failure of the driver, as tests ask for it. */
export function computeFailure(code: ComputeErrorCode): ComputeError {
  return new ComputeError(code, `the fake driver failed with ${code}`)
}
