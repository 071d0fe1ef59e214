import type { Capability } from '../port/capability.ts'
import { createCgroupLimiter } from './cgroup-limiter.ts'
import type { FoundDisk, Limiter } from './limiter.ts'
import { createScopeLimiter } from './scope-limiter.ts'

/** Finds the way that works on this computer: control groups, else systemd, else none. */
export async function createLimiter(installation: string, disk: FoundDisk): Promise<Limiter> {
  const cgroup = await createCgroupLimiter(installation, disk)
  if (cgroup.limiter) return cgroup.limiter
  const scope = await createScopeLimiter(installation, disk)
  if (scope) return scope
  return createNoLimiter(cgroup.why)
}

function createNoLimiter(why: string): Limiter {
  const capability: Capability = { enforced: false, why }
  return {
    cpu: capability,
    memory: capability,
    diskRate: capability,
    processes: { enforced: true, how: 'the limit on processes of a user (RLIMIT_NPROC)' },
    prepare: async () => ({ join_files: [], argv_prefix: [], env: {} }),
    groups: () => ({ cpu: null, memory: null }),
    release: async () => undefined,
    close: async () => undefined,
  }
}
