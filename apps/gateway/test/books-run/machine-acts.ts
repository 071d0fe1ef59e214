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
import { bindPublicIp, unbindPublicIp } from '@berth/contract/public-ip-calls'
import { attachVolume } from '@berth/contract/volume-attach-calls'
import { deleteSnapshot, listSnapshots, takeSnapshot } from '@berth/contract/volume-snapshots'
import { createVolume, deleteVolume, growVolume, listVolumes, type Volume } from '@berth/contract/volumes'
import { pick } from './chances.ts'
import type { Performer } from './performer.ts'

const REGION = 'us-west'
const SPECS = ['cpu', 'cpu', 'l4', 'rtx-4090', 'rtx-5090', 'a100-80'] as const
const CYCLES = ['weekly', 'monthly'] as const
/** Beyond what is free, too. */
const DISKS_GB = [20, 40, 133]

/** What customers do with machines and volumes. Each gives whether it came to something. */
export const MACHINE_ACTS = {
  async deploy({ ask, dice: [spec, how, rest] }) {
    const isTerm = how < 0.25
    const body = {
      name: `proof-${Math.floor(rest * 1e6)}`,
      region_code: REGION,
      gpu_spec_id: pick(SPECS, spec) ?? 'cpu',
      gpu_count: 1,
      image_id: 'berth-base',
      container_disk_gb: pick(DISKS_GB, rest) ?? 20,
      ...(rest < 0.3 && { pod_volume_gb: 1 + Math.floor(rest * 100) }),
      ...(isTerm && {
        billing_type: 'prepay' as const,
        charge_cycle: pick(CYCLES, rest) ?? 'weekly',
        auto_renew: how < 0.15,
      }),
      // An address leads to ports.
      ...(how > 0.7 && { tcp_ports: [8_000] }),
      ...(how > 0.85 && { public_ip: 'dedicated' as const }),
      ...(how > 0.5 && how < 0.6 && { spend_limit_cents: 1 + Math.floor(rest * 300) }),
    }
    return (await ask(deployInstance, { body })).ok
  },
  stop: performer => onInstance(performer, stopInstance),
  restart: performer => onInstance(performer, restartInstance),
  terminate: performer => onInstance(performer, terminateInstance),
  async start(performer) {
    const one = await pickInstance(performer, ({ status }) => status === 'stopped')
    if (!one) return false
    const { instance_id, gpu_spec_id, gpu_count } = one
    return (await performer.ask(startInstance, { body: { instance_id, gpu_spec_id, gpu_count } })).ok
  },
  async subscribe(performer) {
    const { ask, dice } = performer
    const one = await pickInstance(performer, ({ billing_type }) => billing_type === 'postpay')
    if (!one) return false
    const charge_cycle = pick(CYCLES, dice[1]) ?? 'weekly'
    const price_micro = await priceOf(performer, one, { change: 'subscribe', charge_cycle })
    if (price_micro === null) return false
    const body = { instance_id: one.instance_id, charge_cycle, price_micro, auto_renew: dice[2] < 0.5 }
    return (await ask(toggleSubscription, { body })).ok
  },
  async convert(performer) {
    const { ask, dice } = performer
    const one = await pickInstance(performer, ({ billing_type }) => billing_type === 'prepay')
    if (!one) return false
    const charge_cycle = dice[1] < 0.6 ? null : (pick(CYCLES, dice[2]) ?? 'weekly')
    const cycle = charge_cycle === null ? {} : { charge_cycle }
    const price_micro = await priceOf(performer, one, { change: 'convert', ...cycle })
    if (price_micro === null) return false
    return (
      await ask(convertChargeType, { body: { instance_id: one.instance_id, charge_cycle, price_micro } })
    ).ok
  },
  async renew(performer) {
    const one = await pickInstance(performer, ({ billing_type }) => billing_type === 'prepay')
    if (!one) return false
    const price_micro = await priceOf(performer, one, { change: 'renew' })
    if (price_micro === null) return false
    return (await performer.ask(renewInstance, { body: { instance_id: one.instance_id, price_micro } })).ok
  },
  async toggleRenewal(performer) {
    const one = await pickInstance(performer, ({ billing_type }) => billing_type === 'prepay')
    if (!one) return false
    const body = { instance_id: one.instance_id, auto_renew: performer.dice[1] < 0.5 }
    return (await performer.ask(toggleRenewal, { body })).ok
  },
  async makeVolume({ ask, dice: [size] }) {
    const body = {
      name: `v-${Math.floor(size * 1e6)}`,
      region_code: REGION,
      size_gb: 1 + Math.floor(size * 300),
    }
    return (await ask(createVolume, { body })).ok
  },
  async growVolume(performer) {
    const one = await pickVolume(performer)
    if (!one) return false
    const body = { size_gb: one.size_gb + 1 + Math.floor(performer.dice[1] * 50) }
    return (await performer.ask(growVolume, { params: { id: one.id }, body })).ok
  },
  async deleteVolume(performer) {
    const one = await pickVolume(performer)
    if (!one) return false
    return (await performer.ask(deleteVolume, { params: { id: one.id }, query: { name: one.name } })).ok
  },
  async attachVolume(performer) {
    const one = await pickVolume(performer)
    const instance = await pickInstance(performer, ({ status }) => status === 'stopped')
    if (!one || !instance) return false
    const body = { instance_id: instance.instance_id, path: '/store' }
    return (await performer.ask(attachVolume, { params: { id: one.id }, body })).ok
  },
  async takeSnapshot(performer) {
    const one = await pickVolume(performer)
    return one ? (await performer.ask(takeSnapshot, { params: { id: one.id } })).ok : false
  },
  async deleteSnapshot(performer) {
    const one = await pickVolume(performer, ({ snapshots }) => snapshots > 0)
    if (!one) return false
    const listed = await performer.ask(listSnapshots, { params: { id: one.id } })
    const snapshot = listed.ok ? pick(listed.data.snapshots, performer.dice[1]) : undefined
    if (!snapshot) return false
    return (await performer.ask(deleteSnapshot, { params: { id: one.id, snapshot_id: snapshot.id } })).ok
  },
  async bindAddress(performer) {
    const isFit = ({ eip, status, tcp_ports }: Instance) =>
      !eip?.id && tcp_ports.length > 0 && (status === 'running' || status === 'stopped')
    const one = await pickInstance(performer, isFit)
    if (!one) return false
    return (
      await performer.ask(bindPublicIp, { body: { region_code: REGION, instance_id: one.instance_id } })
    ).ok
  },
  async unbindAddress(performer) {
    const one = await pickInstance(performer, ({ eip }) => Boolean(eip?.id))
    const id = one?.eip?.id
    return id ? (await performer.ask(unbindPublicIp, { params: { id } })).ok : false
  },
  async loseMachine(performer) {
    const one = await pickInstance(performer, ({ status }) => status === 'running')
    return one ? performer.loseMachine(one.instance_id) : false
  },
} satisfies Record<string, (performer: Performer) => Promise<boolean>>

type ById = typeof stopInstance | typeof restartInstance | typeof terminateInstance

async function onInstance(performer: Performer, call: ById): Promise<boolean> {
  const one = await pickInstance(performer)
  return one ? (await performer.ask(call, { params: { id: one.instance_id } })).ok : false
}

async function pickInstance(
  { ask, dice: [which] }: Performer,
  wanted: (instance: Instance) => boolean = () => true,
): Promise<Instance | undefined> {
  const listed = await ask(listInstances, {})
  return listed.ok ? pick(listed.data.filter(wanted), which) : undefined
}

async function pickVolume(
  { ask, dice: [which] }: Performer,
  wanted: (volume: Volume) => boolean = () => true,
): Promise<Volume | undefined> {
  const listed = await ask(listVolumes, { query: {} })
  return listed.ok ? pick(listed.data.filter(wanted), which) : undefined
}

/** What a change is confirmed with; null where it would be refused now. */
async function priceOf(
  { ask }: Performer,
  { instance_id }: Instance,
  query: { change: 'renew' | 'subscribe' | 'convert'; charge_cycle?: 'weekly' | 'monthly' },
): Promise<string | null> {
  const said = await ask(previewBilling, { params: { id: instance_id }, query })
  return said.ok && said.data.refused === null ? said.data.price_micro : null
}
