import { ComputeError } from '../port/compute-error.ts'
import { createMachineSampler, type MachineSampler } from '../samples/machine-sampler.ts'
import { openProcess, type ProcessFolder } from '../samples/process-folder.ts'
import { isAlive } from './host-process.ts'
import type { Limiter } from './limiter.ts'
import type { MachineLife } from './machine-life.ts'
import { createMachineStatus } from './machine-status.ts'
import type { MachineStore, ProcessIdentity } from './machine-store.ts'

/**
 * Measures machines that are processes of this computer. Figures come from the control groups where there are some, else
 * from the agent, which adds up the machine's processes.
 */
export function createSandboxSampler(deps: {
  life: Pick<MachineLife, 'mustExist' | 'agentOf'>
  store: MachineStore
  limiter: Limiter
}): MachineSampler {
  const { life, store, limiter } = deps
  const { firstProcess } = createMachineStatus(store)
  return createMachineSampler({
    hasGpusHere: true,
    find: async id => {
      const { spec } = await life.mustExist(id)
      const first = await firstProcess(id)
      if (!first) throw new ComputeError('not_running', `${id} does not run`)
      return {
        groups: limiter.groups(id),
        process: openIfAlive(first.process),
        memory_limit_mb: limiter.memory.enforced ? spec.memory_mb : null,
        gpu_uuids: spec.gpu_uuids,
      }
    },
    ask: async id => {
      const { cpuMs, memoryBytes } = await life.agentOf(id).stats()
      return { cpuMs, memoryBytes, network: null }
    },
    // Without a group of its own a machine has no memory of its own that could be used up.
    askOomKills: async () => null,
    diskBytes: async id => (await life.agentOf(id).stats()).diskBytes,
  })
}

/** The folder of exactly this process; another one may have got its id. */
function openIfAlive(first: ProcessIdentity): ProcessFolder | null {
  const folder = openProcess(first.pid)
  if (isAlive(first)) return folder
  folder?.close()
  return null
}
