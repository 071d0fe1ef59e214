import { join } from 'node:path'
import { consoleOver } from '../console-over.ts'
import type { MachineConsole, MachinePrograms } from '../port/console.ts'
import type { MachineSpec, Machines } from '../port/machines.ts'
import type { MachineNetwork, UdpNetwork } from '../port/network.ts'
import type { Observation, OomKills } from '../port/observation.ts'
import { followTail, readKept, readTail } from './command-log-reader.ts'
import { COMMAND_LOG } from './launch.ts'
import type { Limiter } from './limiter.ts'
import type { MachineLife } from './machine-life.ts'
import type { MachineStore } from './machine-store.ts'
import { createSandboxSampler } from './sandbox-sampler.ts'

export interface MachineFacetsDeps {
  life: MachineLife
  store: MachineStore
  limiter: Limiter
  /** Throws ComputeError where no such machine can be made here. */
  check(spec: MachineSpec): void
}

/** The facets of an engine whose machines are processes of this computer, each with an agent that is asked. */
export function machineFacets({ life, store, limiter, check }: MachineFacetsDeps) {
  const sampler = createSandboxSampler({ life, store, limiter })
  const logOf = (id: string) => join(store.paths(id).run, COMMAND_LOG)

  /** Machines that are not there and machines that do not run refuse in the same way; this tells them apart. */
  const talk = async <T>(id: string, work: () => Promise<T>): Promise<T> => {
    await life.mustExist(id)
    return work()
  }

  const machines: Machines = {
    create: async (spec, signal) => {
      check(spec)
      await life.create(spec, signal)
    },
    wait_to_begin: true,
    start: life.start,
    probe: id => talk(id, async () => void (await life.agentOf(id).hello())),
    begin: (id, signal) => talk(id, () => life.begin(id, signal)),
    stop: async (id, signal, options) => {
      await life.stop(id, signal, options)
      sampler.letGo(id)
    },
    remove: async (id, signal) => {
      await life.remove(id, signal)
      sampler.forget(id)
    },
    list: life.list,
  }
  const connect: MachineNetwork['connect'] = (id, port) => talk(id, () => life.agentOf(id).connect(port))
  const udp: UdpNetwork = { open: (id, port) => talk(id, () => life.agentOf(id).udp(port)) }
  const console: Omit<MachineConsole, 'programs' | 'serial'> = {
    shells_live: 'with_engine',
    ...consoleOver((id, request) => talk(id, () => life.agentOf(id).session(request))),
    exec: (id, argv, options) => talk(id, () => life.agentOf(id).exec(argv, options ?? {})),
  }
  const observation: Omit<Observation, 'guest' | 'oom_kills'> = {
    status: life.status,
    watch: life.watch,
    sample: sampler.sample,
    logs: async (id, { lines_max }) => {
      await life.mustExist(id)
      return (await readTail(logOf(id), lines_max)).trimEnd()
    },
    followLogs: async (id, { lines_max }) => {
      await life.mustExist(id)
      const isOver = async () => (await life.status(id)).state !== 'running'
      return followTail(logOf(id), lines_max, isOver)
    },
    keptLog: async id => {
      await life.mustExist(id)
      return readKept(logOf(id))
    },
  }
  const programs: MachinePrograms = {
    run: (id, options) => talk(id, () => life.agentOf(id).run(options)),
  }
  const oomKills: OomKills = { count: sampler.oomKills }
  return { talk, machines, connect, udp, console, programs, observation, oomKills, close: sampler.close }
}
