import type { Logger } from 'pino'
import type { ComputeDriver, ImageRecipe } from '../../drivers/compute/port.ts'
import type { Clock } from '../../platform/clock.ts'
import type { ReconcileLimits } from './limits.ts'
import type { HostSize } from './machine-spec.ts'
import type { InstanceRow } from './rows.ts'
import type { Store } from './store.ts'
import type { Transitions } from './transitions.ts'

/** What the steps of a reconciler work with. */
export interface StepDeps {
  clock: Clock
  log: Logger
  compute: ComputeDriver | null
  computeMissing: string | null
  /** Whose machines the driver holds. */
  installationId: string
  images: { find(id: string): { recipe: ImageRecipe } }
  host: HostSize
  limits: ReconcileLimits
  store: Store
  transitions: Transitions
}

/** The row as it is after a step; null when it has changed meanwhile and must be read again. */
export type Outcome = Promise<InstanceRow | null>
