import type { Duplex } from 'node:stream'
import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import { type Allowance, createAllowance } from './allowance.ts'
import { PacedStream } from './paced-stream.ts'
import type { StreamLimits } from './stream-limits.ts'

/** Hands on up to so many bytes of what a machine has sent. Gives how many it were. */
type Job = (bytesMax: number) => number

/** Whatever comes out of machines comes in turns, so that none takes this process from everybody else. */
export interface MachineTurns {
  /**
   * Opens a connection into a machine, if it may have one more.
   * @throws ComputeError `exhausted` when it has as many as it may have; and what `open` throws.
   */
  connect(instanceId: string, open: () => Promise<Duplex>): Promise<Duplex>
  /**
   * Counts a connection into a machine that somebody else reads, in turns of their own, if it may have one more.
   * @returns To call once, at its end.
   * @throws ComputeError `exhausted` as `connect`.
   */
  count(instanceId: string): () => void
  /** Puts the reading of a stream that came from a machine under its turns; nothing of it was read. */
  pace(instanceId: string, stream: Duplex): Duplex
}

export interface MachineTurnsDeps {
  limits: StreamLimits
  /** A clock that never goes back, in milliseconds. */
  now(): number
  /** The processor time that this thread has taken so far, in milliseconds. */
  worked(): number
}

/** What is known of one machine while it has streams, and until its allowance is whole again. */
interface Machine {
  allowance: Allowance
  connections: number
  streams: number
  pieceBytes: number
  jobs: Set<Job>
}

/** The clocks of this process. */
export const PROCESS_CLOCKS: Pick<MachineTurnsDeps, 'now' | 'worked'> = {
  now: () => performance.now(),
  worked: () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1_000
  },
}

/**
 * Makes the turns. What a machine sent waits outside this process, unread, until it is the machine's turn: machines take
 * turns among each other, a machine's streams among themselves, and all of them with everything else that this process
 * does. A turn is measured in processor time, since what many tiny things cost cannot be told from their bytes.
 */
export function createMachineTurns({ limits, now, worked }: MachineTurnsDeps): MachineTurns {
  const { burstMs } = limits
  const machines = new Map<string, Machine>()
  /** Machines that have something to hand on, the next one first. */
  const waiting = new Set<Machine>()
  const all = createAllowance({ burstMs, share: limits.shareOfAll, now })
  let connections = 0
  let timer: NodeJS.Timeout | null = null
  /** When that one is due. */
  let timerAt = 0
  /** Turns are taken in a moment, or at this one. */
  let isAtIt = false

  function machineOf(id: string): Machine {
    const known = machines.get(id)
    if (known) return known
    const made: Machine = {
      allowance: createAllowance({ burstMs, share: limits.shareOfOne, now }),
      connections: 0,
      streams: 0,
      pieceBytes: limits.pieceBytesMin,
      jobs: new Set(),
    }
    machines.set(id, made)
    return made
  }

  /** A machine that hangs up and comes again at once has no new allowance. */
  function forget(id: string, machine: Machine): void {
    if (machine.streams > 0 || machine.connections > 0) return
    const whole = setTimeout(
      () => {
        const isUsed = machine.streams > 0 || machine.connections > 0
        if (!isUsed && machines.get(id) === machine) machines.delete(id)
      },
      machine.allowance.waitMs() + burstMs / limits.shareOfOne,
    )
    whole.unref()
  }

  function ask(machine: Machine, job: Job): void {
    machine.jobs.add(job)
    waiting.add(machine)
    if (isAtIt) return
    // Others may wait for their allowance, this one need not wait with them, nor as long as they do.
    const waitMs = timer === null ? 0 : waitOf(machine)
    if (waitMs > 0) {
      if (now() + waitMs < timerAt) takeTurnsIn(waitMs)
      return
    }
    isAtIt = true
    // Not from within a stream that is asked for more: it would hand on later, when nobody measures what that takes.
    setImmediate(takeTurns)
  }

  function waitOf(machine: Machine): number {
    return Math.max(all.waitMs(), machine.allowance.waitMs())
  }

  function takeTurnsIn(waitMs: number): void {
    if (timer) clearTimeout(timer)
    timerAt = now() + waitMs
    timer = setTimeout(takeTurns, waitMs)
  }

  function takeTurns(): void {
    if (timer) clearTimeout(timer)
    timer = null
    isAtIt = true
    // A machine that has more to hand on is at the end of the line again, and is come to once more.
    for (const machine of waiting) {
      if (waitOf(machine) > 0) continue
      waiting.delete(machine)
      takeTurn(machine)
      if (machine.jobs.size > 0) waiting.add(machine)
    }
    isAtIt = false
    if (waiting.size > 0) takeTurnsIn(Math.min(...[...waiting].map(waitOf)))
  }

  function takeTurn(machine: Machine): void {
    const [job] = machine.jobs
    if (!job) return
    machine.jobs.delete(job)
    const before = worked()
    const bytes = job(machine.pieceBytes)
    const tookMs = worked() - before
    for (const allowance of [machine.allowance, all]) allowance.spend(tookMs + bytes / limits.bytesPerMs)
    machine.pieceBytes =
      tookMs > limits.slowPieceMs
        ? Math.max(limits.pieceBytesMin, machine.pieceBytes / 4)
        : Math.min(limits.pieceBytesMax, machine.pieceBytes * 2)
  }

  function pace(instanceId: string, stream: Duplex): Duplex {
    const machine = machineOf(instanceId)
    machine.streams++
    const paced = new PacedStream(stream, limits.quietMs, job => ask(machine, job))
    paced.once('close', () => {
      machine.streams--
      forget(instanceId, machine)
    })
    return paced
  }

  function count(instanceId: string): () => void {
    const machine = machineOf(instanceId)
    const free = limits.connectionsMax - connections
    const connectionsMax = Math.min(limits.connectionsPerInstanceMax, Math.ceil(free * limits.partOfFree))
    if (machine.connections >= connectionsMax) {
      forget(instanceId, machine)
      throw new ComputeError('exhausted', 'the machine has as many open connections as it may have')
    }
    const add = (change: 1 | -1) => {
      connections += change
      machine.connections += change
      forget(instanceId, machine)
    }
    add(1)
    return () => add(-1)
  }

  return {
    async connect(instanceId, open) {
      const release = count(instanceId)
      try {
        const stream = pace(instanceId, await open())
        stream.once('close', release)
        return stream
      } catch (error) {
        release()
        throw error
      }
    },
    count,
    pace,
  }
}
