import type { Logger } from 'pino'
import type { ImageRecipe } from '../../../drivers/compute/port/images.ts'
import type { RegistryAccess } from '../../../drivers/compute/port/registry-access.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import type { Billing } from '../../billing/billing.ts'
import type { Fleet } from '../../fleet/fleet.ts'
import type { SshKeys } from '../../ssh-keys/ssh-keys.ts'
import type { InstanceRow } from '../rows.ts'
import type { ReconcileLimits } from './limits.ts'
import type { Store } from './store.ts'
import type { Transitions } from './transitions.ts'

/** How an image is made, and what its pull may show to its registry. */
export interface FoundImage {
  recipe: ImageRecipe
  access: RegistryAccess
}

/** What the steps of a reconciler work with. */
export interface StepDeps {
  db: Database
  clock: Clock
  log: Logger
  billing: Pick<Billing, 'costMicro'>
  fleet: Pick<Fleet, 'engine' | 'known' | 'isReached'>
  images: { find(id: string): FoundImage }
  sshKeys: Pick<SshKeys, 'list'>
  limits: ReconcileLimits
  store: Store
  transitions: Transitions
}

/** The row as it is after a step; null when it has changed meanwhile and must be read again. */
export type Outcome = Promise<InstanceRow | null>
