import type { InstanceChange } from '@berth/contract/instances'
import type { VolumeMount } from '@berth/contract/volumes'
import type { Logger } from 'pino'
import type { Clock } from '../../platform/clock.ts'
import type { Catalogue } from '../../platform/config/catalogue.ts'
import type { Database, Queryable } from '../../platform/database/database.ts'
import type { OpenDatabase } from '../../platform/database/open-database.ts'
import type { Events } from '../../platform/events/events.ts'
import type { Ids } from '../../platform/ids.ts'
import type { Sealer } from '../../platform/sealer.ts'
import type { Billing } from '../billing/billing.ts'
import type { Budgets } from '../budgets/budgets.ts'
import { machinesDue } from '../customers/customers.ts'
import type { Fleet, WhereAsked } from '../fleet/fleet.ts'
import { accountDeleted } from '../identity/events.ts'
import type { Images } from '../images/images.ts'
import type { PublicIps } from '../public-ips/public-ips.ts'
import type { Regions } from '../regions/regions.ts'
import type { SshKeys } from '../ssh-keys/ssh-keys.ts'
import type { Volumes } from '../volumes/volumes.ts'
import * as actions from './act/actions.ts'
import { type EditWanted, edit } from './act/edit.ts'
import { createDeletionTransitions } from './deletion/deletion-transitions.ts'
import { createUnpaidLook } from './deletion/unpaid.ts'
import { type Load, noteLoad, noteUsed } from './idle.ts'
import * as images from './images-of.ts'
import { createInstanceDesk } from './instance-desk.ts'
import * as networkVolumes from './network-volume/actions.ts'
import { type LackedPort, noteNoPort } from './no-port.ts'
import { checkStock } from './offer/check-stock.ts'
import { countLive, type DeployInput, deploy } from './offer/deploy.ts'
import type { Quotes } from './offer/quotes.ts'
import { noteOomKills } from './oom-kills.ts'
import { createOutageLook } from './outage-look.ts'
import { ownVolumesOn } from './own-disk.ts'
import { createPages, type PageWanted } from './pages.ts'
import * as addresses from './public-ip/actions.ts'
import { publicIpPrice } from './public-ip/price.ts'
import * as reads from './reads.ts'
import { RECONCILE_LIMITS, type ReconcileLimits } from './reconcile/limits.ts'
import { createPairing, type Pairing } from './reconcile/pairing.ts'
import { createReconciler, type Reconciler } from './reconcile/reconciler.ts'
import { noteShutdown } from './reconcile/shutdown.ts'
import { createSteps } from './reconcile/steps.ts'
import { createStore, releaseRows } from './reconcile/store.ts'
import { createSweep } from './reconcile/sweep.ts'
import { createTransitions } from './reconcile/transitions.ts'
import { forgetDefault, readResume, saveResume, stoppedUnpaidOf } from './resume/resume-choices.ts'
import { createResumeLook } from './resume/resume-look.ts'
import { everOf, goneSince, runningOn } from './sampled.ts'
import type { BillingWanted } from './terms/billing-change.ts'
import * as terms from './terms/term-actions.ts'
import { createTermTransitions } from './terms/term-transitions.ts'
import { chargeTraffic, noteTraffic, type TrafficLook } from './traffic/traffic.ts'

export type { Target } from './act/actions.ts'
export { INSTANCE_CHANNEL } from './change-status.ts'
export type { Load } from './idle.ts'
export type { RunningMachine } from './sampled.ts'
export type { TrafficLook } from './traffic/traffic.ts'

type Target = actions.Target
type Tail<List extends unknown[]> = List extends [unknown, ...infer Rest] ? Rest : never

/** Customers' instances: what they ask for, and the reconciler that makes it so. */
export type Instances = ReturnType<typeof createInstances>

export interface InstancesDeps {
  db: Database
  clock: Clock
  ids: Ids
  log: Logger
  fleet: Fleet
  catalogue: Pick<Catalogue, 'regions' | 'images'>
  billing: Billing
  budgets: Pick<Budgets, 'requireRoom' | 'stopped'>
  regions: Pick<Regions, 'offer' | 'requireOpen' | 'stock'>
  publicIps: PublicIps
  /** Where customers reach direct ports of all instances; null where nobody does. */
  sharedAddress: string | null
  images: Pick<Images, 'find' | 'ofInstance' | 'officialName' | 'noteDeploy' | 'bring' | 'buildersAmong'>
  sshKeys: Pick<SshKeys, 'list' | 'guestKeys' | 'requireOwn'>
  quotes: Pick<Quotes, 'rates' | 'term' | 'requireImage' | 'requireDirectPorts'>
  volumes: Pick<Volumes, 'find' | 'requireUsable' | 'requireReady' | 'isReadOnly' | 'countRows'>
  events: Pick<Events, 'emit' | 'on'>
  /** Tells of changes by other replicas; null where there are none. */
  listen: OpenDatabase['listen'] | null
  limits?: ReconcileLimits
  /** Live instances that one customer may have. */
  instancesMax: number
  /** Seals where pages of a list begin. */
  sealer: Sealer
}

/** Makes the instances domain. Nothing runs until its reconciler is started. */
export function createInstances(deps: InstancesDeps) {
  const { db, regions, fleet } = deps
  deps.events.on(accountDeleted, 'instances', async (tx, { userId }) => {
    await actions.forgetTexts(tx, userId)
    await forgetDefault(tx, userId)
  })
  const resumeStopped = createResumeLook(deps)
  const limits = deps.limits ?? RECONCILE_LIMITS
  const readPage = createPages(deps)
  const pairing = createPairing({ ...deps, stock: regions.stock, limits })
  /** The loop. Start it before metering: it finds what died while no gateway was there. */
  const reconciler = makeReconciler(deps, limits, pairing)

  /** Once a call has committed, its work begins at once. */
  async function thenKick(acting: Promise<InstanceChange>): Promise<InstanceChange> {
    const done = await acting
    reconciler.kick(done.instance_id)
    return done
  }

  return {
    reconciler,
    /** What operators see of all instances. */
    desk: createInstanceDesk(deps),
    countLive,
    eventsBetween: reads.eventsBetween,
    /** Whether some pod of a customer is on that is deleted when it stays stopped (R9.6). */
    losesMachines: (userId: string) => reads.losesMachines(db, userId),
    foreign: pairing.foreign,
    /**
     * Deploys an instance; a second deploy with the same key gives the first one's answer.
     * @throws ApiError of the compute group, `insufficient_balance` or `validation_failed`.
     */
    deploy: (input: DeployInput) => thenKick(deploy(deps, input)),
    /** A customer's instances, newest first. */
    list: (userId: string) => reads.list(deps, userId),
    /** A page of a customer's instances, newest first. @throws ApiError `cursor_invalid`. */
    page: (userId: string, wanted: PageWanted) => readPage(userId, wanted),
    /** Instances of any customers as these see them now; null for those that are gone for good. */
    seen: (instanceIds: string[]) => reads.seen(deps, instanceIds),
    /** One of a customer's instances. @throws ApiError `not_found`. */
    get: (target: Target) => reads.get(deps, target),
    /** Stops an instance; its charge ends when nothing of it runs any more. @throws ApiError `not_found` or `instance_state`. */
    stop: (target: Target) => thenKick(actions.stop(deps, target)),
    /**
     * Starts a stopped instance on the GPUs named; a second start with the same key does nothing again.
     * @throws ApiError as `deploy`, `not_found`, `instance_state`.
     */
    start: (target: Target, wanted: actions.StartWanted) => thenKick(actions.start(deps, target, wanted)),
    /** Restarts a running instance. @throws ApiError `not_found` or `instance_state`. */
    restart: (target: Target) => thenKick(actions.restart(deps, target)),
    /** Removes an instance and all that it stored, from every state. @throws ApiError `not_found`. */
    terminate: (target: Target) => thenKick(actions.terminate(deps, target)),
    /**
     * Changes an instance: its name, the rules by which it is stopped (B5), its ports, environment, command and SSH keys.
     * @throws ApiError `not_found`, `instance_state` or `validation_failed`.
     */
    edit: (target: Target, wanted: EditWanted) => thenKick(edit(deps, target, wanted)),
    /** Buys a term, or changes how it is paid for. @throws ApiError as `changePaying` says. */
    changePaying: (target: Target, wanted: terms.BillingConfirmed) =>
      thenKick(terms.changePaying(deps, target, wanted)),
    /** Says whether another term follows. @throws ApiError `not_found`, `instance_state` or `not_prepaid`. */
    toggleRenewal: (target: Target, autoRenew: boolean) =>
      thenKick(terms.toggleRenewal(deps, target, autoRenew)),
    /** What a change of how it is paid for would cost or give back now. @throws ApiError `not_found`. */
    previewBilling: (target: Target, wanted: BillingWanted) => terms.previewBilling(deps, target, wanted),
    /** Gives an instance an address of its own. @throws ApiError as `bind` says. */
    attachVolume: (target: Target, mount: VolumeMount) => networkVolumes.attach(deps, target, mount),
    detachVolume: (target: Target, volumeId: string) => networkVolumes.detach(deps, target, volumeId),
    bindPublicIp: (target: Target, wanted: addresses.BindWanted) => addresses.bind(deps, target, wanted),
    /** Gives an instance's address back, by its id. @throws ApiError `not_found` or `instance_state`. */
    unbindPublicIp: (which: { userId: string; id: string }) => addresses.unbind(deps, which),
    /** What an address of a region costs, and how many are free. @throws ApiError `region_not_supported`. */
    publicIpPrice: (userId: string, regionCode: string) => publicIpPrice(deps, userId, regionCode),
    /** What happened to an instance, newest first. @throws ApiError `not_found`. */
    events: (target: Target) => reads.events(deps, target),
    /** What an instance was deployed with. @throws ApiError `not_found`. */
    setup: (target: Target) => reads.setup(deps, target),
    /** A customer's own instance, whether or not it runs. @throws ApiError `not_found`. */
    findOwn: (target: Target) => reads.findOwn(db, target),
    /** A customer's own instance, though it may be gone for good. @throws ApiError `not_found`. */
    findOwnEver: (target: Target) => reads.findOwnEver(db, target),
    /** A customer's own instance, if it runs. @throws ApiError `not_found` or `instance_not_running`. */
    findRunning: (userId: string, instanceId: string) => reads.findRunning(db, { userId, instanceId }),
    /** Instances of a customer that are not gone and have a volume, the oldest first. */
    holdersOfVolumes: reads.holdersOfVolumes,
    /** Begins to make an image of an instance. @throws ApiError as `beginImage` says. */
    beginImage: (...[target, imageId, rest]: Tail<Parameters<typeof images.beginImage>>) =>
      images.beginImage(deps, target, imageId, rest),
    endImage: images.endImage,
    imagesInUse: images.imagesInUse,
    /** How many of a customer's instances that are not gone were made from each image. */
    countByImage: reads.countByImage,
    ownVolumesOn,
    /** Whose instance that is; null where there is none. */
    ownerOf: (instanceId: string) => reads.ownerOf(db, instanceId),
    /** Whose instance that is, and by what it may be entered; null where there is none. */
    accessOf: (instanceId: string) => reads.accessOf(db, instanceId),
    /** The instance whose HTTP services live on the origin of that secret. */
    findService: (secret: string) => reads.findService(db, secret),
    /** Where an instance's machine is: here, at another gateway, or nowhere that anybody reaches. */
    whereIs: async (instanceId: string, asked?: WhereAsked) =>
      fleet.of(await reads.engineOf(db, instanceId), asked),
    /**
     * Stops those of a customer's instances that the balance can pay for no longer; nothing is deleted.
     * @returns Their ids.
     */
    async stopForEmptyBalance(userId: string): Promise<string[]> {
      const stopped = await actions.stopForEmptyBalance(deps, userId)
      for (const id of stopped) reconciler.kick(id)
      return stopped
    },
    /**
     * Stops those of a customer's instances that a budget lets run no longer (B16).
     * @returns Their ids.
     */
    async stopForBudget(userId: string): Promise<string[]> {
      const stopped = await actions.stopForBudget(deps, userId)
      for (const id of stopped) reconciler.kick(id)
      return stopped
    },
    /** Stops what runs of suspended customers whose time has come (R6.5). */
    async stopSuspended(signal?: AbortSignal): Promise<void> {
      for (const userId of await machinesDue(db, deps.clock.now())) {
        if (signal?.aborted) return
        for (const id of await actions.stopForSuspension(deps, userId)) reconciler.kick(id)
      }
    },
    /** Stops instances because the operator wants it; customers start them again. @returns Ids of those that ran. */
    stopByOperator: (which: { userId: string; ids: string[] }) => actions.stopByOperator(deps, which),
    /** Starts instances again on other computers because the operator takes theirs out of service. @returns Ids of those that are moved. */
    moveByOperator: (which: { userId: string; ids: string[] }) => actions.moveByOperator(deps, which),
    /**
     * Starts those again that stopped for an empty balance, where their customers asked for it and money has come (B4).
     * @returns Their ids.
     */
    async resumeStopped(signal?: AbortSignal): Promise<string[]> {
      const started = await resumeStopped(signal)
      for (const id of started) reconciler.kick(id)
      return started
    },
    /** What of a customer's instances stopped for an empty balance, and what starts again (B4). @throws ApiError `not_found`. */
    resume: (userId: string) => readResume(deps, userId),
    /** Says what starts again by itself: new instances, or all. @throws ApiError `login_expired`. */
    setResume: (userId: string, wanted: Parameters<typeof saveResume>[2]) => saveResume(deps, userId, wanted),
    /** Names of a customer's instances that stopped for an empty balance, and whether they start by themselves. */
    stoppedUnpaid: (q: Queryable, userId: string) => stoppedUnpaidOf(q, deps, userId),
    instancesThere: reads.instancesThere,
    /** Notes what machines have sent, of which a GB costs something. */
    noteTraffic: (looks: readonly TrafficLook[]) => noteTraffic(db, looks),
    /** Charges what instances have sent, and stops those that cannot pay for it. */
    async chargeTraffic(signal?: AbortSignal): Promise<void> {
      const stopped = await chargeTraffic(
        { ...deps, stopUnpaid: (tx, target) => actions.stopForTraffic(tx, deps, target) },
        signal,
      )
      for (const id of stopped) reconciler.kick(id)
    },
    /** Looks at what goes on costing though nothing is left to pay for it (B4). */
    lookAtUnpaid: createUnpaidLook(deps),
    /** Credits outages that go on (B17). */
    lookAtOutages: createOutageLook(deps),
    /** Notes that somebody is connected to instances (B5). */
    noteUsed: (instanceIds: readonly string[]) => noteUsed(db, instanceIds, deps.clock.now()),
    /** Tells that it has run out of memory, once for each growth of the count. @param kills Since its machine started. */
    noteOomKills: (instanceId: string, kills: number) =>
      noteOomKills(db, { instanceId, kills, at: deps.clock.now() }),
    /** Notes that an instance can be given no direct port for one of its own (R2.23). */
    noteNoPort: (lacked: LackedPort) => noteNoPort(db, lacked, deps.clock.now()),
    /** Notes which machines were found quiet, and which busy (B5). */
    noteLoad: (loads: readonly Load[]) => noteLoad(db, loads, deps.clock.now()),
    /** The instances that run on those engines. */
    runningOn: (engineIds: readonly string[]) => runningOn(db, engineIds),
    /** Ids of instances that were terminated since then. */
    goneSince: (since: Date) => goneSince(db, since),
    /** Ids of all instances that a customer ever had. */
    everOf,
    /** How many instances were removed by their customers and have a machine that could not be removed until now. */
    countUnremoved: () => reads.countUnremoved(db),
    /** Live instances that have been in a passing status since before that, the oldest first. */
    stuckSince: (before: Date) => reads.stuckSince(db, before),
    /** How many live instances each engine has, by its id. */
    enginesInUse: () => reads.enginesInUse(db),
    /** Gives back the rows that a gateway worked on which is known to be dead. */
    forgetGateway: (gatewayId: string) => releaseRows(db, gatewayId),
    /** Writes down which machines an engine stopped as the gateway ends; call it after `reconciler.stop`. */
    onShutdown: (machineIds: string[]) => noteShutdown({ ...deps, stock: regions.stock }, machineIds),
    /** Whether the stock is what instances hold, whatever goes on meanwhile. Gives a sentence for each difference. */
    checkStock: () => checkStock(db, regions.stock),
  }
}

function makeReconciler(deps: InstancesDeps, limits: ReconcileLimits, pairing: Pairing): Reconciler {
  const { db, billing, clock, events, regions, publicIps } = deps
  const store = createStore({
    db,
    billing,
    owner: deps.fleet.selfId,
    servedElsewhere: deps.fleet.servedElsewhere,
  })
  const transitions = createTransitions({
    clock,
    billing,
    stock: regions.stock,
    publicIps,
    store,
    limits,
    events,
  })
  const terms = createTermTransitions({ ...deps, stock: regions.stock, store })
  const deletion = createDeletionTransitions({
    clock,
    billing,
    stock: regions.stock,
    publicIps,
    store,
    events,
  })
  const steps = createSteps({ ...deps, limits, store, transitions, terms, deletion })
  const sweep = createSweep({ ...deps, limits, pairing })
  return createReconciler({ ...deps, limits, store, steps, sweep, pairing, watchedSince: clock.now() })
}
