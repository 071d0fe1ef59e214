import { type DeployBody, deployInstance, type InstanceChange } from '@berth/contract/instances'
import { and, count, eq, isNull } from 'drizzle-orm'
import type { Clock } from '../../../platform/clock.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { notify } from '../../../platform/database/open-database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { columnsOf } from '../../../platform/http/wire.ts'
import type { Ids } from '../../../platform/ids.ts'
import { earlierResult, keepResult } from '../../../platform/once.ts'
import type { Billing } from '../../billing/billing.ts'
import type { Budgets } from '../../budgets/budgets.ts'
import { forCustomer } from '../../customers/customers.ts'
import type { Fleet } from '../../fleet/fleet.ts'
import type { ImageChoice, Images } from '../../images/images.ts'
import type { PublicIps } from '../../public-ips/public-ips.ts'
import type { Regions } from '../../regions/regions.ts'
import type { SshKeys } from '../../ssh-keys/ssh-keys.ts'
import type { Volumes } from '../../volumes/volumes.ts'
import { addEvent, INSTANCE_CHANNEL, instanceSubject } from '../change-status.ts'
import { holdHour } from '../public-ip/follow.ts'
import { resumesByDefault } from '../resume/resume-choices.ts'
import { changeOf, type InstanceRow, PROGRESS } from '../rows.ts'
import { requireAhead } from '../stop-rules.ts'
import { instance } from '../tables.ts'
import { requirePrice, requireUnderLimit } from '../terms/term-checks.ts'
import { keepersOf, requireDisks } from './disks.ts'
import { imageChoice } from './image-choice.ts'
import { type Quotes, requireCycle } from './quotes.ts'
import { sizedOf } from './sized.ts'
import { takeStock } from './stock.ts'

export interface DeployDeps {
  db: Database
  clock: Clock
  ids: Ids
  billing: Pick<Billing, 'lockWallet' | 'hold'>
  budgets: Pick<Budgets, 'requireRoom'>
  regions: Pick<Regions, 'offer' | 'stock'>
  publicIps: PublicIps
  images: Pick<Images, 'find' | 'noteDeploy'>
  fleet: Pick<Fleet, 'place' | 'requireKind' | 'isReached' | 'known'>
  quotes: Pick<Quotes, 'rates' | 'term' | 'requireImage' | 'requireDirectPorts'>
  /** Live instances that one customer may have. */
  instancesMax: number
  volumes: Pick<Volumes, 'find' | 'requireUsable'>
  sshKeys: Pick<SshKeys, 'requireOwn'>
}

export interface DeployInput {
  userId: string
  /** Two deploys with one key are one instance (B3). */
  idempotencyKey: string
  body: DeployBody
  /**
   * Whatever has to be done with it or not at all, in the transaction of the deploy, once and before anything is taken.
   * What it throws undoes the deploy.
   */
  within?(tx: Transaction, made: { instanceId: string; runningMicroPerHour: bigint }): Promise<void>
}

/**
 * Takes the GPUs and the address, sets the first hour aside, or the price of the first term, and writes the instance
 * down, all or nothing. The reconciler does the rest.
 * @throws ApiError `kind_not_supported`, `price_changed`, `region_not_supported`, `gpu_spec_unknown`, `image_unknown`,
 *   `validation_failed`, `compute_unavailable`, `instance_limit`, `gpu_sold_out`, `public_ip_sold_out`,
 *   `insufficient_balance`, `budget_reached`, `login_expired` where the account was deleted meanwhile; of its volume `not_found`,
 *   `volume_state` or `volume_in_use`.
 */
export async function deploy(deps: DeployDeps, input: DeployInput): Promise<InstanceChange> {
  const { db, billing, regions, publicIps } = deps
  const { userId, idempotencyKey, body } = input
  const cycle = requireCycle(body)
  if (body.stop_at !== null) requireAhead(new Date(body.stop_at), deps.clock.now())
  const offer = regions.offer(body.region_code, body.gpu_spec_id)
  const image = imageChoice(userId, body)
  requirePorts(body)
  requireDisks(body)
  const found = await findImage(deps, body, image)
  const engineIds = await nearVolume(deps, input, keepersOf(deps.fleet, body, found.engineIds))
  await deps.quotes.requireImage(image)
  const sized = sizedOf(body)
  const { runningMicroPerHour, stoppedMicroPerHour, trafficMicroPerGb } = deps.quotes.rates(sized)
  const term = cycle === null ? null : deps.quotes.term(sized, cycle)
  if (term) requireUnderLimit(body.spend_limit_cents, term.termMicro)
  const instanceId = deps.ids.instanceId()
  const call = { userId, operation: deployInstance.operation, key: idempotencyKey }
  const row = await db.transaction(async tx => {
    // Either the account's deletion sees this instance, or this deploy is refused.
    await forCustomer(tx, userId)
    await billing.lockWallet(tx, userId)
    const earlier = await earlierResult(tx, call, deps.clock.now())
    if (earlier !== null) return await ownInstance(tx, userId, earlier)
    if (term && body.price_micro !== null) requirePrice(body.price_micro, term.termMicro)
    await requireRoom(tx, userId, deps.instancesMax)
    await deps.budgets.requireRoom(tx, { userId, instanceId: null })
    await deps.quotes.requireDirectPorts(tx, body)
    if (body.ssh_key_ids) await deps.sshKeys.requireOwn(tx, userId, body.ssh_key_ids)
    if (body.network_volume) {
      await deps.volumes.requireUsable(tx, { userId, instanceId, id: body.network_volume.id })
    }
    const addressMicroPerHour = body.public_ip === 'dedicated' ? publicIps.microPerHour : 0n
    await input.within?.(tx, { instanceId, runningMicroPerHour: runningMicroPerHour + addressMicroPerHour })
    const given = await takeStock(tx, regions.stock, {
      offer,
      gpuCount: body.gpu_count,
      instanceId,
      engineIds,
    })
    const [made] = await tx
      .insert(instance)
      .values({
        ...newRow(deps, input, instanceId),
        resumeAfterTopup: await resumesByDefault(tx, userId),
        imageName: found.name,
        ...given,
        ...term,
        runningMicroPerHour,
        stoppedMicroPerHour,
        trafficMicroPerGb,
      })
      .returning()
    if (!made) throw new Error('an insert gave no row')
    await billing.hold(tx, {
      userId,
      subject: instanceSubject(instanceId),
      amountMicro: term?.termMicro ?? runningMicroPerHour,
    })
    if (body.public_ip === 'dedicated') {
      const wanted = { regionCode: body.region_code, instanceId, userId, microPerHour: addressMicroPerHour }
      await holdHour(tx, deps, await publicIps.take(tx, wanted))
    }
    await deps.images.noteDeploy(tx, { imageId: body.image_id, userId, at: made.createdAt })
    await keepResult(tx, call, instanceId)
    await addEvent(tx, made, { at: made.createdAt, code: 'deployed' })
    await notify(tx, INSTANCE_CHANNEL, instanceId)
    return made
  })
  return changeOf(row)
}

/**
 * Engines that can make it, and what its image is called where that is not the catalogue's. An image that none can make would only fail later: it is refused before money moves (B7). */
async function findImage(
  { fleet, images }: DeployDeps,
  body: DeployBody,
  choice: ImageChoice,
): Promise<{ engineIds: string[]; name: string | null }> {
  const { region_code: regionCode, kind } = body
  fleet.requireKind(regionCode, kind)
  fleet.place({ regionCode, kind, canMake: () => true })
  const image = await images.find(choice, regionCode)
  // What an engine makes that does not answer now is refused as unavailable, not as wrong.
  const isMade = image.available || image.unavailable_reason === 'no_driver'
  if (!isMade || image.kind !== kind) {
    const path = body.image_reference === null ? 'image_id' : 'image_reference'
    throw new ApiError('validation_failed', { fields: [{ path, rule: 'not_allowed' }] })
  }
  const engineIds = fleet.place({ regionCode, kind, canMake: image.makes })
  return { engineIds, name: image.kept && image.name }
}

/**
 * Of the engines that can make it the one that keeps its volume: what is stored there does not move.
 * @throws ApiError `not_found`, `volume_of_objects`, `compute_unavailable`, or `validation_failed` with `volume_elsewhere`.
 */
async function nearVolume(
  { volumes, fleet }: DeployDeps,
  { userId, body }: DeployInput,
  engineIds: string[],
): Promise<string[]> {
  if (!body.network_volume) return engineIds
  const { engineId, regionCode } = await volumes.find(userId, body.network_volume.id)
  if (fleet.known(engineId)?.facts?.volumes?.objects) {
    const fields = [{ path: 'network_volume.id', rule: 'not_allowed' as const }]
    throw new ApiError('volume_of_objects', { fields })
  }
  if (regionCode === body.region_code && engineIds.includes(engineId)) return [engineId]
  if (regionCode === body.region_code && !fleet.isReached(engineId)) {
    const why = 'no gateway reaches the engine that keeps the volume'
    throw new ApiError('compute_unavailable', { cause: new Error(why) })
  }
  throw new ApiError('validation_failed', {
    fields: [{ path: 'network_volume.id', rule: 'volume_elsewhere' }],
  })
}

/** Only direct ports are reached at an address of its own. */
function requirePorts({ public_ip, tcp_ports, udp_ports }: DeployBody): void {
  if (public_ip === 'shared' || tcp_ports.length + udp_ports.length > 0) return
  throw new ApiError('validation_failed', { fields: [{ path: 'public_ip', rule: 'public_ip_no_ports' }] })
}

async function ownInstance(tx: Transaction, userId: string, id: string): Promise<InstanceRow> {
  const [row] = await tx
    .select()
    .from(instance)
    .where(and(eq(instance.userId, userId), eq(instance.id, id)))
  if (!row) throw new Error(`instance ${id} is gone`)
  return row
}

/** How many instances a customer has whose machines are not known to be gone. */
export async function countLive(tx: Transaction, userId: string): Promise<number> {
  const [row] = await tx
    .select({ count: count() })
    .from(instance)
    .where(and(eq(instance.userId, userId), isNull(instance.terminatedAt)))
  return row?.count ?? 0
}

async function requireRoom(tx: Transaction, userId: string, limit: number): Promise<void> {
  if ((await countLive(tx, userId)) >= limit) {
    throw new ApiError('instance_limit', { values: { limit } })
  }
}

function newRow({ clock, ids }: DeployDeps, { userId, body: wanted }: DeployInput, id: string) {
  const now = clock.now()
  const { price_micro: _, public_ip: __, ...body } = wanted
  return {
    id,
    userId,
    ...columnsOf(body),
    // Names of none of its variables say nothing.
    secretEnv: body.secret_env.filter(name => Object.hasOwn(body.env, name)),
    autoRenew: body.billing_type === 'prepay' && body.auto_renew,
    stopAt: body.stop_at === null ? null : new Date(body.stop_at),
    serviceSecret: ids.hostSecret(),
    desired: 'running' as const,
    status: 'creating' as const,
    progress: PROGRESS.scheduled,
    statusSince: now,
    nextAttemptAt: now,
    createdAt: now,
  }
}
