import type { EnterOptions } from './enter-script.ts'
import type { ViewStep } from './root-view.ts'

/** All that a launcher must know to make a machine; how it does is its own business. */
export interface LaunchPlan {
  hostname: string
  /** A network of the machine's own that nothing leads out of, or the one that the launcher is started in. */
  network: 'own' | 'joined'
  steps: ViewStep[]
  /** Mounts that nothing is written to once all is in its place. */
  read_only: string[]
  enter: EnterOptions
  /** An empty folder to mount the root view on. */
  mount_point: string
  /** The open file to write the first process's id to, as `{"child-pid": …}`; null to tell nobody. */
  info_fd: number | null
  /** The command to run in the machine, as its user. */
  command: string[]
}
