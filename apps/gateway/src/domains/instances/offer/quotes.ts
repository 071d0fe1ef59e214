import type { CallData } from '@berth/contract/call'
import { CHARGE_CYCLES, type ChargeCycle, TERM_DAYS, termPrice } from '@berth/contract/charge-terms'
import { type checkResource, type getPrice, price, priceLine } from '@berth/contract/instances'
import { SYSTEM_DISK_FREE_GB } from '@berth/contract/limits'
import { centsCeil, runwaySeconds } from '@berth/contract/money'
import { ComputeError } from '../../../drivers/compute/port/compute-error.ts'
import type { Catalogue } from '../../../platform/config/catalogue.ts'
import { discountedMicro, termPriceMicro } from '../../../platform/config/term-prices.ts'
import type { Database, Queryable } from '../../../platform/database/database.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import type { CallRequest } from '../../../platform/http/handler.ts'
import { wireOf } from '../../../platform/http/wire.ts'
import type { Billing } from '../../billing/billing.ts'
import type { Budgets } from '../../budgets/budgets.ts'
import type { Fleet } from '../../fleet/fleet.ts'
import type { FoundImage, ImageChoice, Images } from '../../images/images.ts'
import type { PublicIps } from '../../public-ips/public-ips.ts'
import type { Regions } from '../../regions/regions.ts'
import type { Registries } from '../../registries/registries.ts'
import type { Volumes } from '../../volumes/volumes.ts'
import { StepTimedOut, withDeadline } from '../reconcile/deadline.ts'
import { type DirectPortsLeft, type PortsAsked, portsCheck, requireDirectPorts } from './check-ports.ts'
import { volumeCheck } from './check-volume.ts'
import { ownDiskCheck, requireDisks } from './disks.ts'
import { fault, type ImageLook, imageChoice, lookAtImage } from './image-choice.ts'
import { type Sized, sizedOf } from './sized.ts'

const priceOf = wireOf(price)
const termPriceOf = wireOf(termPrice)
const lineOf = wireOf(priceLine)

type Check = CallData<typeof checkResource>['checks'][number]
type CheckBody = CallRequest<typeof checkResource>['body']

/** How long a check waits for a driver that does not answer. */
const LOOK_MS = 3_000
const MB_PER_GB = 1_024

/** What an instance costs, in micro-units an hour. */
export interface Rates {
  machineMicroPerHour: bigint
  /** Of the container or system disk, what is over its free part. */
  diskMicroPerHour: bigint
  /** Of the disk beside that; nothing of it is free. */
  ownDiskMicroPerHour: bigint
  /** Machine and disks. */
  runningMicroPerHour: bigint
  /** A stopped instance keeps its disks (R4.7). */
  stoppedMicroPerHour: bigint
  /** What a GB that it sends costs, beside all that. */
  trafficMicroPerGb: bigint
}

/** What an instance costs for a term paid in advance, in micro-units. */
export interface TermRates {
  /** Machine and disks, running or stopped. */
  termMicro: bigint
  termDiskMicro: bigint
}

export interface Quotes {
  /**
   * The rates of a spec with its disks. The first GB of the container or system disk are free (R9.5), and of no other.
   * @throws ApiError `region_not_supported` or `gpu_spec_unknown`.
   */
  rates(input: Sized): Rates
  /**
   * The price of a term, the disks' part rounded down to the micro-unit for each GB.
   * @throws ApiError `region_not_supported` or `gpu_spec_unknown`.
   */
  term(input: Sized, cycle: ChargeCycle): TermRates
  /** Answers the price call: lines, sums and how long the balance would last beside what runs already. */
  price(request: CallRequest<typeof getPrice>): Promise<CallData<typeof getPrice>>
  /** Answers the check-resource call (B7): every check is made, so that one answer names all that is wrong. */
  check(request: CallRequest<typeof checkResource>): Promise<CallData<typeof checkResource>>
  /**
   * Asks the registry of a reference for its image, so that no money moves for one that cannot be had (B7).
   * @throws ApiError `validation_failed` with a rule of `image_reference` or `registry_credential_id`.
   */
  requireImage(choice: ImageChoice): Promise<void>
  /**
   * Refuses a deploy that asks for more direct ports than are left.
   * @throws ApiError `validation_failed` with `direct_ports_used_up` or `direct_ports_not_offered`.
   */
  requireDirectPorts(q: Queryable, asked: PortsAsked): Promise<void>
}

/**
 * Prices and preflight checks.
 * @param deps `fleet` says which engines can make a machine.
 */
export function createQuotes(deps: {
  db: Database
  catalogue: Catalogue
  regions: Pick<Regions, 'offer' | 'requireOpen' | 'stock'>
  publicIps: Pick<PublicIps, 'level' | 'microPerHour'>
  images: Pick<Images, 'find'>
  billing: Pick<Billing, 'totals'>
  budgets: Pick<Budgets, 'hasRoom'>
  fleet: Pick<Fleet, 'place' | 'requireKind' | 'engine' | 'engines' | 'isReached'>
  registries: Pick<Registries, 'askImage'>
  volumes: Pick<Volumes, 'find' | 'obstacle'>
  directPortsLeft: DirectPortsLeft
}): Quotes {
  const { db, catalogue, regions, publicIps, images, billing, fleet, registries } = deps
  /** An address of its own is metered by the hour, however the rest is paid for. */
  const addressMicro = (type: CheckBody['public_ip']) => (type === 'dedicated' ? publicIps.microPerHour : 0n)

  function term({ regionCode, specId, gpuCount, diskGb, ownDiskGb }: Sized, cycle: ChargeCycle): TermRates {
    const { spec } = regions.offer(regionCode, specId)
    const termDiskMicro = (paidGbOf(diskGb) + BigInt(ownDiskGb)) * gbTermMicro(cycle)
    const { term_discount_percent } = catalogue.prices
    const machineMicro = termPriceMicro(spec, term_discount_percent, cycle) * BigInt(gpuCount)
    return { termMicro: machineMicro + termDiskMicro, termDiskMicro }
  }

  /** What a GB of disk costs for a term. */
  function gbTermMicro(cycle: ChargeCycle): bigint {
    const { term_discount_percent, disk_micro_per_gb_hour } = catalogue.prices
    return discountedMicro(disk_micro_per_gb_hour, term_discount_percent, cycle)
  }

  function rates(input: Sized): Rates {
    const { spec, region } = regions.offer(input.regionCode, input.specId)
    const paidGb = paidGbOf(input.diskGb)
    const machineMicroPerHour = spec.price_micro_per_hour * BigInt(input.gpuCount)
    const diskMicroPerHour = paidGb * catalogue.prices.disk_micro_per_gb_hour
    const ownDiskMicroPerHour = BigInt(input.ownDiskGb) * catalogue.prices.disk_micro_per_gb_hour
    const stoppedMicroPerHour = diskMicroPerHour + ownDiskMicroPerHour
    return {
      machineMicroPerHour,
      diskMicroPerHour,
      ownDiskMicroPerHour,
      runningMicroPerHour: machineMicroPerHour + stoppedMicroPerHour,
      stoppedMicroPerHour,
      trafficMicroPerGb: region.traffic_micro_per_gb,
    }
  }

  /** Engines that can make it, the best ones first; null where there is none. */
  function placesFor(body: CheckBody, canMake: FoundImage['makes'] = () => true): string[] | null {
    try {
      return fleet.place({ regionCode: body.region_code, kind: body.kind, canMake })
    } catch (error) {
      if (error instanceof ApiError && error.code === 'compute_unavailable') return null
      throw error
    }
  }

  /** Whether an image is there without a pull, as far as an engine can be asked from here; null: it does not answer. */
  async function isHere(image: FoundImage | null, engineIds: string[]): Promise<boolean | null> {
    const engine = engineIds.map(fleet.engine).find(found => found !== null)
    if (!engine || !image?.available) return false
    const deadline = { deadlineMs: LOOK_MS, superseded: new AbortController().signal, graceMs: 0 }
    try {
      return await withDeadline(deadline, () => engine.images.has(image.recipe))
    } catch (error) {
      if (error instanceof ComputeError || error instanceof StepTimedOut) return null
      throw error
    }
  }

  const regionName = (code: string) => catalogue.regions.find(region => region.code === code)?.name ?? code

  return {
    rates,
    term,
    async requireImage(choice) {
      const look = await lookAtImage(registries, choice)
      if (look && 'rule' in look) throw fault(look.path, look.rule)
    },
    requireDirectPorts: (q, asked) => requireDirectPorts(q, deps.directPortsLeft, asked),
    async price({ query, caller }) {
      const cycle = requireCycle(query)
      const { spec } = regions.offer(query.region_code, query.gpu_spec_id)
      fleet.requireKind(query.region_code, query.kind)
      const { kind, data_disk_gb = null, pod_volume_gb = null } = query
      requireDisks({ kind, data_disk_gb, pod_volume_gb })
      const own = data_disk_gb ?? pod_volume_gb
      const sized = sizedOf({ ...query, data_disk_gb, pod_volume_gb })
      const cost = rates(sized)
      const ipMicroPerHour = addressMicro(query.public_ip)
      const atOnceMicro = cycle === null ? null : term(sized, cycle).termMicro
      const { burnMicroPerHour, availableMicro, currency } = await billing.totals(db, caller.userId)
      return priceOf({
        currency,
        lines: [
          lineOf({
            key: spec.gpu ? 'gpu' : 'cpu',
            name: spec.name,
            quantity: query.gpu_count,
            of: null,
            rateMicroPerHour: cost.machineMicroPerHour,
          }),
          lineOf({
            key: 'disk',
            name: '',
            quantity: Math.max(0, query.container_disk_gb - SYSTEM_DISK_FREE_GB),
            of: query.container_disk_gb,
            rateMicroPerHour: cost.diskMicroPerHour,
          }),
          ...(own === null
            ? []
            : [
                lineOf({
                  key: data_disk_gb === null ? 'pod_volume' : 'data_disk',
                  name: '',
                  quantity: own,
                  of: own,
                  rateMicroPerHour: cost.ownDiskMicroPerHour,
                }),
              ]),
          ...(query.public_ip === 'dedicated'
            ? [
                lineOf({
                  key: 'public_ip',
                  name: '',
                  quantity: 1,
                  of: null,
                  rateMicroPerHour: ipMicroPerHour,
                }),
              ]
            : []),
        ],
        runningMicroPerHour: cost.runningMicroPerHour + ipMicroPerHour,
        stoppedMicroPerDay: (cost.stoppedMicroPerHour + ipMicroPerHour) * 24n,
        trafficMicroPerGb: cost.trafficMicroPerGb,
        reserveCents: centsCeil((atOnceMicro ?? cost.runningMicroPerHour) + ipMicroPerHour),
        lastsSeconds:
          atOnceMicro === null
            ? runwaySeconds(availableMicro, burnMicroPerHour + cost.runningMicroPerHour + ipMicroPerHour)
            : runwaySeconds(availableMicro - atOnceMicro, burnMicroPerHour + ipMicroPerHour),
        terms: CHARGE_CYCLES.map(chargeCycle => {
          const { termMicro, termDiskMicro } = term(sized, chargeCycle)
          const ownDiskMicro = BigInt(sized.ownDiskGb) * gbTermMicro(chargeCycle)
          return termPriceOf({
            chargeCycle,
            days: TERM_DAYS[chargeCycle],
            machineMicro: termMicro - termDiskMicro,
            diskMicro: termDiskMicro - ownDiskMicro,
            ownDiskMicro,
            priceMicro: termMicro,
          })
        }),
      })
    },
    async check({ body, caller }) {
      const cycle = requireCycle(body)
      requireDisks(body)
      const offer = attempt(() => regions.offer(body.region_code, body.gpu_spec_id))
      // Of a region that is none, no more is said than that.
      const choice = imageChoice(caller.userId, body)
      const image = await attemptLater(() => images.find(choice, offer ? body.region_code : null))
      const engineIds = offer ? placesFor(body) : []
      const here = engineIds === null ? false : await isHere(image, engineIds)
      const asked = image?.available ? await lookAtImage(registries, choice) : null
      const isReady = engineIds !== null && here !== null
      const checks: Check[] = []
      const add = (key: Check['key'], ok: boolean, code: string, values: Check['values'] = {}) =>
        checks.push({ key, ok, code, values })

      add('compute', isReady, isReady ? 'compute_ready' : 'compute_missing')
      if (!offer) {
        add(
          'region',
          false,
          closedAs(() => regions.requireOpen(body.region_code)),
        )
      } else {
        const key = { regionCode: body.region_code, specId: body.gpu_spec_id }
        const { available } = await regions.stock.level(db, key)
        const enough = available >= body.gpu_count && offer.spec.counts.includes(body.gpu_count)
        const unit = offer.spec.gpu ? 'gpus' : 'machines'
        add('stock', enough, enough ? `${unit}_free` : 'sold_out', {
          count: available,
          region: offer.region.name,
          wanted: body.gpu_count,
        })
        const sized = sizedOf(body)
        const machineMicro = cycle === null ? rates(sized).runningMicroPerHour : term(sized, cycle).termMicro
        const neededMicro = machineMicro + addressMicro(body.public_ip)
        const { availableMicro } = await billing.totals(db, caller.userId)
        const covered = availableMicro >= neededMicro
        add('balance', covered, covered ? 'balance_covers' : 'balance_low', {
          needed_cents: centsCeil(neededMicro),
        })
      }
      if (!(await deps.budgets.hasRoom(caller.userId))) add('budget', false, 'budget_reached')
      if (offer && body.public_ip === 'dedicated') {
        const { total, available } = await publicIps.level(db, body.region_code)
        const code = available > 0 ? 'public_ip_free' : total > 0 ? 'public_ip_sold_out' : 'public_ip_none'
        add('public_ip', available > 0, code, { count: available, region: offer.region.name })
      }
      // Of a driver that does not answer, nothing can be said about its images.
      if (here !== null) add('image', ...imageCheck(image, here, asked))
      const sizeMb = asked && 'sizeMb' in asked ? asked.sizeMb : (image?.size ?? 0)
      const diskNeededGb = Math.ceil(sizeMb / MB_PER_GB)
      const room = body.container_disk_gb >= diskNeededGb
      add('disk', room, room ? 'disk_fits' : 'disk_too_small', { needed_gb: diskNeededGb })
      if (body.data_disk_gb !== null || body.pod_volume_gb !== null) {
        add('own_disk', ...ownDiskCheck(fleet, body.region_code, engineIds))
      }
      if (offer && body.network_volume_id !== null) {
        const asked = {
          userId: caller.userId,
          volumeId: body.network_volume_id,
          regionCode: body.region_code,
          engineIds: image?.available ? placesFor(body, image.makes) : engineIds,
        }
        add('network_volume', ...(await volumeCheck({ ...deps, regionName }, asked)))
      }
      const ports = await portsCheck(db, deps.directPortsLeft, body)
      if (ports) add('ports', ...ports)
      return { ok: checks.every(({ ok }) => ok), checks }
    },
  }
}

function paidGbOf(diskGb: number): bigint {
  return BigInt(Math.max(0, diskGb - SYSTEM_DISK_FREE_GB))
}

/**
 * How long is paid for in advance; null on demand.
 * @throws ApiError `validation_failed` where billing type and charge cycle do not go together.
 */
export function requireCycle(input: {
  billing_type: 'postpay' | 'prepay'
  charge_cycle: ChargeCycle | null
}): ChargeCycle | null {
  const { billing_type, charge_cycle } = input
  if ((billing_type === 'prepay') === (charge_cycle !== null)) return charge_cycle
  const rule = charge_cycle === null ? 'required' : 'not_allowed'
  throw new ApiError('validation_failed', { fields: [{ path: 'charge_cycle', rule }] })
}

/** Whether an image can be made here, and what that takes. */
function imageCheck(
  image: FoundImage | null,
  here: boolean,
  asked: ImageLook | null,
): [boolean, string, Check['values']] {
  if (!image?.available) return [false, image?.unavailable_reason ?? 'image_unknown', {}]
  if (asked && 'rule' in asked) return [false, asked.rule, { field: asked.path }]
  if (asked && 'sizeMb' in asked) return [true, 'image_to_pull', { size_mb: asked.sizeMb }]
  if (image.recipe.owner !== undefined) return [true, 'image_not_asked', {}]
  if (here) return [true, 'image_here', {}]
  return [true, 'image_to_pull', { size_mb: image.size }]
}

async function attemptLater<Value>(find: () => Promise<Value>): Promise<Value | null> {
  try {
    return await find()
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  }
}

/** Why a region takes nothing new. */
function closedAs(requireOpen: () => unknown): string {
  try {
    requireOpen()
  } catch (error) {
    if (error instanceof ApiError && error.code === 'region_draining') return error.code
  }
  return 'region_not_supported'
}

function attempt<Value>(find: () => Value): Value | null {
  try {
    return find()
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  }
}
