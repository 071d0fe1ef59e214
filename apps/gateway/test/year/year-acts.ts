import { topup } from '@berth/contract/billing'
import { applyCoupon } from '@berth/contract/credits'
import { customImages } from '@berth/contract/images'
import {
  convertChargeType,
  previewBilling,
  renewInstance,
  toggleRenewal,
  toggleSubscription,
} from '@berth/contract/instance-terms'
import {
  deployInstance,
  type Instance,
  listInstances,
  restartInstance,
  startInstance,
  stopInstance,
  terminateInstance,
} from '@berth/contract/instances'
import { createImage, deleteImage } from '@berth/contract/own-images'
import { bindPublicIp, unbindPublicIp } from '@berth/contract/public-ip-calls'
import { createVolume, deleteVolume, growVolume, listVolumes } from '@berth/contract/volumes'
import { imageDetails } from '../../src/domains/images/images-fixture.ts'
import type { Person, World } from './world.ts'

/** Where what machines send is charged for, and where it is not. */
export const REGIONS = { charges: 'eu-frankfurt', free: 'us-west' } as const
export const COUPON = { code: 'YEAR-TEN-DAYS', cents: 777, days: 10 }
const GOOD_CARD = '4242424242424242'
const SPECS = ['cpu', 'cpu', 'l4', 'rtx-4090'] as const
const DISKS_GB = [20, 25, 60, 133] as const
const INSTANCES_MAX = 5
/** What an image of a machine that wrote next to nothing keeps, rounded up. */
const IMAGE_GB = 1
const DAY_MS = 86_400_000

/** Whoever does something, with numbers from 0 and below 1 that choose the rest. */
export interface Doing {
  world: World
  person: Person
  dice: readonly [number, number, number]
  /** What was paid in, by its ids. */
  payments: string[]
}

const pick = <T>(list: readonly T[], dice: number): T | undefined => list[Math.floor(dice * list.length)]

/** Pays in with a card. */
export async function payIn({ world, person, payments }: Doing, cents: number): Promise<void> {
  const body = { amount: cents, currency: 'USD', platform_name: 'testcard', source: GOOD_CARD } as const
  const paid = await world.ask(person, topup, { body })
  if (!paid) throw new Error('a good card was refused')
  payments.push(paid.transaction_id)
  await world.note({ who: person.userId, kind: 'top-up', cents })
}

/** A machine that is deployed, on demand or for a term. */
export async function deploy(
  { world, person }: Doing,
  sized: { region: string; spec: string; count: number; diskGb: number; podVolumeGb: number },
  term: { cycle: 'weekly' | 'monthly'; renews: boolean } | null,
): Promise<string | null> {
  const body = {
    ...{ name: 'year', region_code: sized.region, gpu_spec_id: sized.spec, gpu_count: sized.count },
    ...{ image_id: 'berth-base', container_disk_gb: sized.diskGb, tcp_ports: [7_123] },
    ...(sized.podVolumeGb > 0 && { pod_volume_gb: sized.podVolumeGb }),
    ...(term && { billing_type: 'prepay' as const, charge_cycle: term.cycle, auto_renew: term.renews }),
  }
  const made = await world.ask(person, deployInstance, { body })
  if (!made) return null
  const who = person.userId
  await world.note({ who, kind: 'deploy', id: made.instance_id, term, ...sized })
  if (sized.region === REGIONS.charges) await count({ world, who, id: made.instance_id, bytes: 0 })
  return made.instance_id
}

/** The counter of what a machine sent is looked at. */
async function count(of: { world: World; who: string; id: string; bytes: number }): Promise<void> {
  const { world, who, id, bytes } = of
  await world.gateway().instances.noteTraffic([{ instanceId: id, bytes, at: new Date(world.now()) }])
  await world.note({ who, kind: 'counter', id, bytes })
}

/** A machine has sent so much more. */
export async function sendOn({ world, person }: Doing, id: string, grown: number): Promise<void> {
  const bytes = (world.counters.get(id) ?? 0) + grown
  world.counters.set(id, bytes)
  await count({ world, who: person.userId, id, bytes })
}

async function pickInstance(
  { world, person, dice: [which] }: Doing,
  wanted: (one: Instance) => boolean,
): Promise<Instance | undefined> {
  return pick(((await world.ask(person, listInstances, {})) ?? []).filter(wanted), which)
}

async function onInstance(
  doing: Doing,
  kind: 'stop' | 'restart' | 'remove',
  wanted: (one: Instance) => boolean,
): Promise<void> {
  const { world, person } = doing
  const call = { stop: stopInstance, restart: restartInstance, remove: terminateInstance }[kind]
  const id = (await pickInstance(doing, wanted))?.instance_id
  if (id && (await world.ask(person, call, { params: { id } }))) {
    await world.note({ who: person.userId, kind, id })
  }
}

const runs = ({ status }: Instance) => status === 'running'
const isOnDemand = ({ billing_type }: Instance) => billing_type === 'postpay'

/** What a change is confirmed with; null where it is refused. */
async function priceOf(
  { world, person }: Doing,
  id: string,
  query: { change: 'renew' | 'subscribe' | 'convert'; charge_cycle?: 'weekly' | 'monthly' },
): Promise<string | null> {
  const said = await world.ask(person, previewBilling, { params: { id }, query })
  return said && said.refused === null ? said.price_micro : null
}

const cycleOf = (dice: number): 'weekly' | 'monthly' => (dice < 0.7 ? 'weekly' : 'monthly')

/** What is done in a year, and how. Each looks for something that it can be done with, and does nothing else. */
export const YEAR_ACTS = {
  async deploy(doing) {
    const [spec, disk, rest] = doing.dice
    if (((await doing.world.ask(doing.person, listInstances, {})) ?? []).length >= INSTANCES_MAX) return
    const sized = {
      region: rest < 0.5 ? REGIONS.charges : REGIONS.free,
      spec: pick(SPECS, spec) ?? 'cpu',
      count: spec > 0.9 ? 2 : 1,
      diskGb: pick(DISKS_GB, disk) ?? 20,
      podVolumeGb: rest > 0.6 ? 1 + Math.floor(disk * 90) : 0,
    }
    await deploy(doing, sized, disk < 0.4 ? { cycle: cycleOf(rest), renews: spec < 0.6 } : null)
  },
  stop: doing => onInstance(doing, 'stop', runs),
  restart: doing => onInstance(doing, 'restart', runs),
  remove: doing => onInstance(doing, 'remove', () => true),
  async start(doing) {
    const { world, person } = doing
    const one = await pickInstance(doing, ({ status }) => status === 'stopped')
    if (!one) return
    const { instance_id, gpu_spec_id, gpu_count } = one
    const body = { instance_id, gpu_spec_id, gpu_count }
    if (await world.ask(person, startInstance, { body })) {
      await world.note({ who: person.userId, kind: 'start', id: instance_id })
    }
  },
  async subscribe(doing) {
    const { world, person, dice } = doing
    const id = (await pickInstance(doing, isOnDemand))?.instance_id
    const cycle = cycleOf(dice[1])
    const renews = dice[2] < 0.6
    const price_micro = id ? await priceOf(doing, id, { change: 'subscribe', charge_cycle: cycle }) : null
    if (!id || price_micro === null) return
    const body = { instance_id: id, charge_cycle: cycle, price_micro, auto_renew: renews }
    if (await world.ask(person, toggleSubscription, { body })) {
      await world.note({ who: person.userId, kind: 'subscribe', id, cycle, renews })
    }
  },
  async convert(doing) {
    const { world, person, dice } = doing
    const one = await pickInstance(doing, each => !isOnDemand(each))
    const other = one?.charge_cycle === 'weekly' ? ('monthly' as const) : ('weekly' as const)
    const cycle = dice[1] < 0.6 ? null : other
    const query = { change: 'convert' as const, ...(cycle && { charge_cycle: cycle }) }
    const price_micro = one ? await priceOf(doing, one.instance_id, query) : null
    if (!one || price_micro === null) return
    const body = { instance_id: one.instance_id, charge_cycle: cycle, price_micro }
    if (await world.ask(person, convertChargeType, { body })) {
      await world.note({ who: person.userId, kind: 'convert', id: one.instance_id, cycle })
    }
  },
  async renew(doing) {
    const { world, person } = doing
    const id = (await pickInstance(doing, each => !isOnDemand(each)))?.instance_id
    const price_micro = id ? await priceOf(doing, id, { change: 'renew' }) : null
    if (!id || price_micro === null) return
    if (await world.ask(person, renewInstance, { body: { instance_id: id, price_micro } })) {
      await world.note({ who: person.userId, kind: 'renew', id })
    }
  },
  async renewal(doing) {
    const { world, person, dice } = doing
    const id = (await pickInstance(doing, each => !isOnDemand(each)))?.instance_id
    const renews = dice[1] < 0.4
    if (!id || !(await world.ask(person, toggleRenewal, { body: { instance_id: id, auto_renew: renews } })))
      return
    await world.note({ who: person.userId, kind: 'renewal', id, renews })
  },
  async send(doing) {
    const one = await pickInstance(doing, each => runs(each) && each.region_code === REGIONS.charges)
    if (!one) return
    await sendOn(doing, one.instance_id, Math.floor(doing.dice[1] ** 4 * 80e9))
  },
  async volume(doing) {
    await makeVolume(doing, 1 + Math.floor(doing.dice[1] * 400))
  },
  async grow({ world, person, dice }) {
    const one = pick((await world.ask(person, listVolumes, { query: {} })) ?? [], dice[0])
    if (!one) return
    const gb = one.size_gb + 1 + Math.floor(dice[1] * 70)
    if (await world.ask(person, growVolume, { params: { id: one.id }, body: { size_gb: gb } })) {
      await world.note({ who: person.userId, kind: 'grow', id: one.id, gb })
    }
  },
  async dropVolume({ world, person, dice }) {
    const one = pick((await world.ask(person, listVolumes, { query: {} })) ?? [], dice[0])
    if (!one) return
    if (await world.ask(person, deleteVolume, { params: { id: one.id }, query: { name: one.name } })) {
      await world.note({ who: person.userId, kind: 'drop', id: one.id })
    }
  },
  async image(doing) {
    const id = (await pickInstance(doing, runs))?.instance_id
    if (id) await makeImage(doing, id)
  },
  async dropImage({ world, person, dice }) {
    const id = pick((await world.ask(person, customImages, {})) ?? [], dice[0])?.id
    if (id && (await world.ask(person, deleteImage, { params: { id } }))) {
      await world.note({ who: person.userId, kind: 'drop', id })
    }
  },
  async bind(doing) {
    const one = await pickInstance(doing, ({ eip }) => !eip?.id)
    if (one) await bind(doing, one)
  },
  async unbind(doing) {
    const { world, person } = doing
    const id = (await pickInstance(doing, ({ eip }) => Boolean(eip?.id)))?.eip?.id
    if (id && (await world.ask(person, unbindPublicIp, { params: { id } }))) {
      await world.note({ who: person.userId, kind: 'drop', id })
    }
  },
  async coupon({ world, person }) {
    if (!(await world.ask(person, applyCoupon, { body: { code: COUPON.code } }))) return
    const micro = BigInt(COUPON.cents) * 10_000n
    await world.note({
      ...{ who: person.userId, kind: 'credits', micro },
      endsAt: world.now() + COUPON.days * DAY_MS,
    })
  },
  async credits({ world, person, dice }) {
    const micro = BigInt(1 + Math.floor(dice[0] * 20_000_000))
    const endsAt = dice[1] < 0.4 ? null : world.now() + Math.ceil(dice[2] * 30 * DAY_MS)
    const grant = { userId: person.userId, amountMicro: micro, kind: 'bonus', reason: 'year' } as const
    await world
      .gateway()
      .billing.couponDesk.give({ ...grant, endsAt: endsAt === null ? null : new Date(endsAt) })
    await world.note({ who: person.userId, kind: 'credits', micro, endsAt })
  },
  async refund({ world, person, dice, payments }) {
    const paymentId = pick(payments, dice[0])
    const cents = 1 + Math.floor(dice[1] * 900)
    if (!paymentId) return
    try {
      const { refunds } = world.gateway().billing
      const { state } = await refunds.create({ id: crypto.randomUUID(), paymentId, amountCents: cents })
      if (state === 'done') await world.note({ who: person.userId, kind: 'refund', cents })
    } catch (error) {
      // More than is left of it, or of the cash.
      if ((error as Error).constructor.name !== 'RefundRefused') throw error
    }
  },
  async payIn(doing) {
    await payIn(doing, 500 + Math.floor(doing.dice[0] * 9_000))
  },
} satisfies Record<string, (doing: Doing) => Promise<void>>
export type YearAct = keyof typeof YEAR_ACTS

/** A network volume that is made. */
export async function makeVolume({ world, person }: Doing, gb: number): Promise<void> {
  const body = { name: `v-${world.log.length}`, region_code: REGIONS.free, size_gb: gb }
  const made = await world.ask(person, createVolume, { body })
  if (made) await world.note({ who: person.userId, kind: 'volume', id: made.id, gb })
}

/** An image that is made of a machine. */
export async function makeImage({ world, person }: Doing, instanceId: string): Promise<void> {
  const body = { ...imageDetails, instance_id: instanceId }
  const made = await world.ask(person, createImage, { body })
  if (made) await world.note({ who: person.userId, kind: 'image', id: made.id, gb: IMAGE_GB })
}

/** An address that a machine gets for itself. */
export async function bind(
  { world, person }: Doing,
  { region_code, instance_id }: Pick<Instance, 'region_code' | 'instance_id'>,
): Promise<void> {
  const bound = await world.ask(person, bindPublicIp, { body: { region_code, instance_id } })
  if (bound?.id) {
    await world.note({ who: person.userId, kind: 'address', id: bound.id, machine: instance_id })
  }
}
