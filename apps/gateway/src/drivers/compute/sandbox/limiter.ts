import type { Disk } from '../disk-rate.ts'
import type { Capability } from '../port/capability.ts'
import type { CountingGroups } from '../samples/control-groups.ts'

/** What a machine may use. */
export interface MachineLimits {
  cpu_count: number
  memory_mb: number
  processesMax: number
}

/** The disk that machines store on, or why there is none that can be limited. */
export type FoundDisk = Disk | { why: string }

/** Holds machines to their limits, each in a way of its own, or says why it cannot. */
export interface Limiter {
  cpu: Capability
  memory: Capability
  processes: Capability
  diskRate: Capability
  /** Makes the limits ready for a machine and returns how its processes come under them. */
  prepare(name: string, limits: MachineLimits): Promise<Admission>
  /** In which control groups the kernel counts what a machine uses. */
  groups(name: string): CountingGroups
  /** Forgets the limits of a machine whose processes are gone. */
  release(name: string): Promise<void>
  /** Takes away what is left when no machine runs any more. */
  close(): Promise<void>
}

export interface Admission {
  /** Files that the launching process writes its own id to. */
  join_files: string[]
  /** Goes before the launcher's own arguments. */
  argv_prefix: string[]
  /** What that prefix needs to know; it goes no further than the launcher. */
  env: Record<string, string>
}
