import type { CallData } from '@berth/contract/call'
import type { Instance, listInstanceEvents } from '@berth/contract/instances'
import type { Logger } from 'pino'
import type { ComputeDriver } from '../../drivers/compute/port.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Catalogue } from '../../platform/config/catalogue.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import type { OpenDatabase } from '../../platform/database/open-database.ts'
import type { Ids } from '../../platform/ids.ts'
import type { Billing } from '../billing/billing.ts'
import type { Images } from '../images/images.ts'
import type { Notifications } from '../notifications/notifications.ts'
import type { Regions } from '../regions/regions.ts'
import * as actions from './actions.ts'
import { countLive, type DeployInput, deploy } from './deploy.ts'
import { forgetUser } from './forget-user.ts'
import { RECONCILE_LIMITS, type ReconcileLimits } from './limits.ts'
import { type HostSize, thisHost } from './machine-spec.ts'
import { createPairing, type Pairing } from './pairing.ts'
import type { Quotes } from './quotes.ts'
import * as reads from './reads.ts'
import { createReconciler, type Reconciler } from './reconciler.ts'
import { noteShutdown } from './shutdown.ts'
import { createSteps } from './steps.ts'
import { createStore } from './store.ts'
import { createSweep } from './sweep.ts'
import { createTransitions } from './transitions.ts'

type Target = actions.Target
type Done = actions.Done

/** Customers' instances: what they ask for, and the reconciler that makes it so. */
export interface Instances {
  /**
   * Deploys an instance; a second deploy with the same key gives the first one's answer.
   * @throws ApiError of the compute group, `insufficient_balance` or `validation_failed`.
   */
  deploy(input: DeployInput): Promise<Done>
  /** A customer's instances, newest first. */
  list(userId: string): Promise<Instance[]>
  /** Stops an instance; its charge ends with the call. @throws ApiError `not_found` or `instance_state`. */
  stop(target: Target): Promise<Done>
  /**
   * Starts a stopped instance on the GPUs named; a second start with the same key does nothing again.
   * @throws ApiError as `deploy`, `not_found`, `instance_state`.
   */
  start(target: Target, wanted: actions.StartWanted): Promise<Done>
  /** Restarts a running instance. @throws ApiError `not_found` or `instance_state`. */
  restart(target: Target): Promise<Done>
  /** Removes an instance and all that it stored, from every state. @throws ApiError `not_found`. */
  terminate(target: Target): Promise<Done>
  /** Changes an instance's name. @throws ApiError `not_found` or `instance_state`. */
  rename(target: Target, name: string): Promise<Done>
  /** What happened to an instance, newest first. @throws ApiError `not_found`. */
  events(target: Target): Promise<CallData<typeof listInstanceEvents>>
  /** What happened to an instance in a stretch of time, for receipts; oldest first. */
  eventsBetween: typeof reads.eventsBetween
  /** A customer's own instance, if it runs. @throws ApiError `not_found` or `instance_not_running`. */
  findRunning(userId: string, instanceId: string): Promise<{ id: string }>
  /** The instance whose HTTP services live on the origin of that secret. */
  findService(secret: string): Promise<reads.Service | null>
  /**
   * Stops those of a customer's instances that the balance can pay for no longer; nothing is deleted.
   * @returns Their ids.
   */
  stopForEmptyBalance(userId: string): Promise<string[]>
  /** How many instances a customer has whose machines are not known to be gone. Call it under the wallet's lock. */
  countLive(tx: Transaction, userId: string): Promise<number>
  /** Removes what customers wrote into instances that are gone: variables and commands. Receipts stay. */
  forgetUser(tx: Transaction, userId: string): Promise<void>
  /** How many machines of this installation belong to another database, once the reconciler has started. */
  foreignMachines(): number
  /** Writes down which machines the driver stopped as the gateway ends; call it after `reconciler.stop`. */
  onShutdown(machineIds: string[]): Promise<void>
  /** The loop. Start it before metering: it finds what died while no gateway was there. */
  reconciler: Reconciler
}

export interface InstancesDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Logger
  compute: ComputeDriver | null
  /** Why no machine can run here; null when one can. */
  computeMissing: string | null
  /** Names this gateway's data folder towards drivers. */
  installationId: string
  catalogue: Pick<Catalogue, 'regions'>
  billing: Billing
  regions: Pick<Regions, 'offer' | 'taken' | 'lockStock'>
  images: Pick<Images, 'find'>
  quotes: Pick<Quotes, 'rates'>
  notices: Pick<Notifications, 'instanceTrouble'>
  /** Throws for a deleted account, and holds back its deletion until the transaction ends. */
  requireOpen(tx: Transaction, userId: string): Promise<void>
  /** Tells of changes by other replicas; null where there are none. */
  listen: OpenDatabase['listen'] | null
  /** What the computer under the machines has; without it this one's. */
  host?: HostSize
  limits?: ReconcileLimits
}

/** Makes the instances domain. Nothing runs until its reconciler is started. */
export function createInstances(deps: InstancesDeps): Instances {
  const { db } = deps
  const host = deps.host ?? thisHost()
  const limits = deps.limits ?? RECONCILE_LIMITS
  const pairing = createPairing({ ...deps, limits })
  const reconciler = makeReconciler(deps, { host, limits, pairing })
  const readDeps = { ...deps, host }

  /** Once a call has committed, its work begins at once. */
  async function thenKick(acting: Promise<Done>): Promise<Done> {
    const done = await acting
    reconciler.kick(done.instance_id)
    return done
  }

  return {
    deploy: input => thenKick(deploy(deps, input)),
    list: userId => reads.list(readDeps, userId),
    stop: target => thenKick(actions.stop(deps, target)),
    start: (target, wanted) => thenKick(actions.start(deps, target, wanted)),
    restart: target => thenKick(actions.restart(deps, target)),
    terminate: target => thenKick(actions.terminate(deps, target)),
    rename: (target, name) => actions.rename(deps, target, name),
    events: target => reads.events(deps, target),
    eventsBetween: reads.eventsBetween,
    findRunning: (userId, instanceId) => reads.findRunning(db, { userId, instanceId }),
    findService: secret => reads.findService(db, secret),
    stopForEmptyBalance: async userId => {
      const stopped = await actions.stopForEmptyBalance(deps, userId)
      for (const id of stopped) reconciler.kick(id)
      return stopped
    },
    countLive,
    forgetUser,
    foreignMachines: pairing.foreignMachines,
    onShutdown: machineIds => noteShutdown(deps, machineIds),
    reconciler,
  }
}

function makeReconciler(
  deps: InstancesDeps,
  parts: { host: HostSize; limits: ReconcileLimits; pairing: Pairing },
): Reconciler {
  const { db, billing, clock, ids, notices } = deps
  const { host, limits, pairing } = parts
  const { installationId } = deps
  const store = createStore({ db, billing, owner: ids.uuid(), installationId, limits })
  const transitions = createTransitions({ clock, billing, store, limits, notices })
  const steps = createSteps({ ...deps, host, limits, store, transitions })
  const sweep = createSweep({ ...deps, limits, pairing })
  return createReconciler({ ...deps, limits, store, steps, sweep, pairing, watchedSince: clock.now() })
}
