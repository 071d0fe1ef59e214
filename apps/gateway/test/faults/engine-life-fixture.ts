import type { Call, CallData, CallInput } from '@berth/contract/call'
import type { ChargeCycle } from '@berth/contract/charge-terms'
import {
  convertChargeType,
  previewBilling,
  renewInstance,
  toggleRenewal,
  toggleSubscription,
} from '@berth/contract/instance-terms'
import {
  deployInstance,
  editInstance,
  type Instance,
  restartInstance,
  startInstance,
  stopInstance,
  terminateInstance,
} from '@berth/contract/instances'
import { createImage } from '@berth/contract/own-images'
import { bindPublicIp, unbindPublicIp } from '@berth/contract/public-ip-calls'
import { expect } from 'vitest'
import { imageDetails } from '../../src/domains/images/images-fixture.ts'
import { type Customer, deployInput } from './customer-fixture.ts'
import type { KilledEngine, Place } from './killed-engine-fixture.ts'
import type { Random } from './random-fixture.ts'

/** Where machines of these lives say `REACHED` to whoever comes, on engines whose image has the program for it. */
export const PORT = 7_173
export const REACHED = 'reached'
const LISTENER = `exec perl -e 'socket(S,2,1,0); setsockopt(S,1,2,pack("i",1)); bind(S,pack("Sna4x8",2,${PORT},"\\0\\0\\0\\0")) or die;
  listen(S,9); while (accept(C,S)) { syswrite C, "${REACHED}"; close C }'`

/** About how long each action takes, in ms: within that something is killed. Those that change rows alone are quick. */
const TAKES_MS = {
  deploy: 900,
  bind: 80,
  stop: 700,
  start: 700,
  subscribe: 80,
  renew: 80,
  cancel: 50,
  restart: 900,
  keep: 50,
  edit: 900,
  convert: 80,
  unbind: 50,
  leave: 80,
  image: 1_200,
  terminate: 500,
}
export type Action = keyof typeof TAKES_MS

/** An instance's whole life, in an order in which each action finds what it needs, on demand and in advance. */
const ON_DEMAND = Object.keys(TAKES_MS) as Action[]
/** One that is paid for in advance from its deploy on, and has a term and an address still when it is removed. */
const IN_ADVANCE = ON_DEMAND.filter(action => !['subscribe', 'unbind', 'leave'].includes(action))

/** Actions that no engine hears of. */
export const ON_PAPER: readonly Action[] = [
  'bind',
  'subscribe',
  'renew',
  'cancel',
  'keep',
  'convert',
  'unbind',
  'leave',
]
/** Those of them that want a term under way. */
const WANT_TERM: readonly Action[] = ['renew', 'cancel', 'keep', 'convert', 'leave']
/** How often a customer asks for what the state of a machine that was killed does not allow. */
const ASKED_MAX = 5
const PATIENCE = { timeout: 90_000, interval: 100 }

/** An instance on one engine, and what its customer has been told of it. */
export interface EngineLife {
  engine: KilledEngine
  place: Place
  id: string | null
  /** How it is paid for in advance; null on demand. */
  cycle: ChargeCycle | null
  autoRenew: boolean
  /** Terms that were bought for it since its deploy, whose own is not among them. */
  bought: number
  wasDeployedInAdvance: boolean
  /** The address that it has for itself. */
  address: { id: string; address: string } | null
}

/** Who does all this, and by what its moments and choices are made. */
export interface LifeWorld {
  random: Random
  customer: Customer
  /** Ids of all addresses that were bound so far, whether or not they were given back. */
  bound: string[]
}

/** A life that begins with a deploy: on demand, or for a first term. */
export function newLife(engine: KilledEngine, place: Place, cycle: ChargeCycle | null): EngineLife {
  const nothing = { id: null, autoRenew: false, bought: 0, address: null }
  return { engine, place, cycle, wasDeployedInAdvance: cycle !== null, ...nothing }
}

/** What is done in a life, in order, and within how many ms each is killed. */
export function actionsOf(cycle: ChargeCycle | null): { action: Action; takesMs: number }[] {
  const actions = cycle === null ? ON_DEMAND : IN_ADVANCE
  return actions.map(action => ({ action, takesMs: TAKES_MS[action] }))
}

/** Whether nothing is under way with an instance. */
export function isAtRest({ status, reason }: Instance): boolean {
  if (status === 'error') return reason !== null
  return status === 'running' || status === 'stopped' || status === 'exited'
}

/** An instance once nothing is under way. */
async function rested(customer: Customer, id: string): Promise<Instance> {
  let one: Instance | undefined
  await expect
    .poll(async () => {
      one = await customer.find(id)
      return one && isAtRest(one)
    }, PATIENCE)
    .toBe(true)
  if (!one) throw new Error(`${id} is gone`)
  return one
}

/** Brings an instance to where an action may be asked for: its machine, how it is paid for, its address. */
export async function prepare(world: LifeWorld, life: EngineLife, action: Action): Promise<void> {
  const { customer } = world
  const { id, engine, cycle, address } = life
  if (id === null || action === 'deploy' || action === 'terminate') return
  if (WANT_TERM.includes(action) && cycle === null) await act(world, life, 'subscribe')
  if (action === 'subscribe' && cycle !== null) await act(world, life, 'leave')
  if (action === 'unbind' && address === null) await act(world, life, 'bind')
  if (action === 'bind' && address !== null) await act(world, life, 'unbind')
  const isAny = ON_PAPER.includes(action) && action !== 'subscribe' && action !== 'bind'
  if (isAny) return
  const wanted = action === 'start' || (action === 'image' && engine.kind === 'VM') ? 'stopped' : 'running'
  const { status } = await rested(customer, id)
  if (status === wanted) return
  if (wanted === 'running') await customer.untilFinal(startInstance, startInput(id))
  else if (status === 'running') await customer.untilFinal(stopInstance, { params: { id } })
  // `exited` and `error` are as good to start from.
  else return
  await expect.poll(async () => (await rested(customer, id)).status, PATIENCE).toBe(wanted)
}

const startInput = (id: string) => ({ body: { instance_id: id, gpu_count: 1, gpu_spec_id: 'cpu' } })

/**
 * One thing that a customer does, until it is answered. What changes rows alone is done, whatever was killed: where the
 * state of a machine does not allow it, it is brought back first.
 */
export async function act(world: LifeWorld, life: EngineLife, action: Action): Promise<void> {
  const { customer, random } = world
  const { id, place, engine } = life
  if (action === 'deploy') return deploy(customer, life)
  if (id === null) throw new Error('nothing was deployed')
  const params = { id }
  if (action === 'terminate') {
    Object.assign(life, { id: null, address: null })
    await customer.data(terminateInstance, { params })
  } else if (action === 'stop') await customer.untilFinal(stopInstance, { params })
  else if (action === 'start') await customer.untilFinal(startInstance, startInput(id))
  else if (action === 'restart') await customer.untilFinal(restartInstance, { params })
  else if (action === 'edit') {
    // Another name is another container at the next start.
    const name = `renamed-${random.below(1_000)}`
    await customer.untilFinal(editInstance, { body: { instance_id: id, name } })
    await customer.untilFinal(restartInstance, { params })
  } else if (action === 'image') {
    const body = { ...imageDetails, instance_id: id, kind: engine.kind, region_code: place.regionCode }
    await customer.untilFinal(createImage, { body })
  } else await onPaper(world, life, action)
}

async function deploy(customer: Customer, life: EngineLife): Promise<void> {
  const { place, engine, cycle } = life
  const wanted = {
    ...deployInput('killed').body,
    region_code: place.regionCode,
    image_id: place.imageId,
    kind: engine.kind,
    tcp_ports: [PORT],
    start_command: engine.kind === 'POD' ? LISTENER : '',
    ...(cycle && { billing_type: 'prepay' as const, charge_cycle: cycle }),
  }
  life.id = (await customer.data(deployInstance, { body: wanted })).instance_id
  life.autoRenew = cycle !== null
}

/**
 * Changes how an instance is paid for, or its address, and notes what is to be true of it from then on. What the state of a
 * machine does not allow that was killed is asked for again once it is brought back.
 */
async function onPaper(world: LifeWorld, life: EngineLife, action: Action): Promise<void> {
  for (let asked = 1; ; asked += 1) {
    try {
      return await change(world, life, action)
    } catch (error) {
      if (!(error instanceof WrongState) || asked === ASKED_MAX) throw error
      await rested(world.customer, life.id ?? '')
      await prepare(world, life, action)
    }
  }
}

async function change(world: LifeWorld, life: EngineLife, action: Action): Promise<void> {
  const { customer } = world
  const { id, place, cycle, address } = life
  if (id === null) throw new Error('nothing was deployed')
  if (action === 'bind') {
    const body = { region_code: place.regionCode, instance_id: id }
    const bound = await allowed(customer, bindPublicIp, { body })
    life.address = { id: bound.id ?? '', address: bound.address }
    world.bound.push(life.address.id)
  } else if (action === 'unbind') {
    await allowed(customer, unbindPublicIp, { params: { id: address?.id ?? '' } })
    life.address = null
  } else if (action === 'cancel' || action === 'keep') {
    const auto_renew = action === 'keep'
    await allowed(customer, toggleRenewal, { body: { instance_id: id, auto_renew } })
    life.autoRenew = auto_renew
  } else if (action === 'renew') {
    const price_micro = await priceOf(customer, id, { change: 'renew' })
    await allowed(customer, renewInstance, { body: { instance_id: id, price_micro } })
    life.bought += 1
  } else if (action === 'subscribe') {
    const charge_cycle = 'weekly' as const
    const price_micro = await priceOf(customer, id, { change: 'subscribe', charge_cycle })
    await allowed(customer, toggleSubscription, { body: { instance_id: id, charge_cycle, price_micro } })
    Object.assign(life, { cycle: charge_cycle, autoRenew: true, bought: life.bought + 1 })
  } else {
    const charge_cycle = action === 'leave' ? null : cycle === 'weekly' ? 'monthly' : 'weekly'
    const price_micro = await priceOf(customer, id, {
      change: 'convert',
      ...(charge_cycle && { charge_cycle }),
    })
    await allowed(customer, convertChargeType, { body: { instance_id: id, charge_cycle, price_micro } })
    life.cycle = charge_cycle
    if (charge_cycle === null) life.autoRenew = false
    else life.bought += 1
  }
}

/** What a change of how an instance is paid for is confirmed with, in micro-units. @throws WrongState */
async function priceOf(
  customer: Customer,
  id: string,
  query: NonNullable<CallInput<typeof previewBilling>['query']>,
): Promise<string> {
  const { refused, price_micro } = await customer.data(previewBilling, { params: { id }, query })
  if (refused === 'instance_state') throw new WrongState()
  if (refused !== null) throw new Error(`${query.change}: ${refused}`)
  return price_micro
}

/** A call that must work but for the state in which a machine happens to be. @throws WrongState */
async function allowed<C extends Call>(
  customer: Customer,
  call: C,
  input: CallInput<C>,
): Promise<CallData<C>> {
  const envelope = await customer.untilFinal(call, input)
  if (envelope.status === 'ok') return envelope.data
  if (envelope.code === 'instance_state') throw new WrongState()
  throw new Error(`${call.operation}: ${JSON.stringify(envelope)}`)
}

/** The state of the machine does not allow it now. */
class WrongState extends Error {}
