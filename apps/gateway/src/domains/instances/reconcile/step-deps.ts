import type { Logger } from 'pino'
import type { Clock } from '../../../platform/clock.ts'
import type { Database } from '../../../platform/database/database.ts'
import type { Billing } from '../../billing/billing.ts'
import type { Fleet } from '../../fleet/fleet.ts'
import type { Images } from '../../images/images.ts'
import type { SshKeys } from '../../ssh-keys/ssh-keys.ts'
import type { Volumes } from '../../volumes/volumes.ts'
import type { DeletionTransitions } from '../deletion/deletion-transitions.ts'
import type { InstanceRow } from '../rows.ts'
import type { TermTransitions } from '../terms/term-transitions.ts'
import type { ReconcileLimits } from './limits.ts'
import type { Store } from './store.ts'
import type { Transitions } from './transitions.ts'

/** What the steps of a reconciler work with. */
export interface StepDeps {
  db: Database
  clock: Clock
  log: Logger
  billing: Pick<Billing, 'costMicro'>
  fleet: Pick<Fleet, 'engine' | 'known' | 'isReached'>
  images: Pick<Images, 'ofInstance' | 'bring'>
  sshKeys: Pick<SshKeys, 'list' | 'guestKeys'>
  volumes: Pick<Volumes, 'isReadOnly'>
  limits: ReconcileLimits
  store: Store
  transitions: Transitions
  terms: TermTransitions
  deletion: DeletionTransitions
}

/** The row as it is after a step; null when it has changed meanwhile and must be read again. */
export type Outcome = Promise<InstanceRow | null>
