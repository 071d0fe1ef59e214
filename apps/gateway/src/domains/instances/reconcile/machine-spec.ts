import type { MachineNote } from '@berth/contract/instances'
import type { SshKey } from '@berth/contract/ssh-keys'
import type { ComputeCapabilities, EngineSize } from '../../../drivers/compute/port/engine.ts'
import type { ImageRecipe } from '../../../drivers/compute/port/images.ts'
import type { MachineSpec } from '../../../drivers/compute/port/machines.ts'
import type { VolumeMount } from '../../../drivers/compute/port/volumes.ts'
import type { EngineFacts } from '../../fleet/fleet.ts'
import type { GuestKeys } from '../../ssh-keys/ssh-keys.ts'
import { type OwnDiskColumns, ownDiskOf } from '../own-disk.ts'
import type { InstanceRow } from '../rows.ts'

/** What the engine's computer has. */
type HostSize = Pick<EngineSize, 'cpu_count' | 'memory_mb'>

type SpecRow = Pick<
  InstanceRow,
  | 'id'
  | 'userId'
  | 'name'
  | 'spec'
  | 'containerDiskGb'
  | 'gpuUuids'
  | 'env'
  | 'startCommand'
  | 'onCommandEnd'
  | 'httpPorts'
  | 'tcpPorts'
  | 'udpPorts'
>

/**
 * The machine that an instance asks for. CPU and memory are at most what the computer has: a catalogue's 64 GB
 * on a laptop would only make the engine refuse.
 * @param from.ssh Its customer's keys and the gateway's own, for machines that boot a system of their own; null for others.
 * @param from.volumes What is attached to it.
 */
export function machineSpec(
  row: SpecRow,
  {
    image,
    host,
    ssh,
    volumes,
  }: {
    image: ImageRecipe
    host: HostSize
    ssh: { keys: Pick<SshKey, 'public_key'>[]; own: GuestKeys } | null
    volumes: VolumeMount[]
  },
): MachineSpec {
  return {
    id: row.id,
    hostname: hostnameOf(row),
    tenant: row.userId,
    image,
    cpu_count: Math.min(row.spec.vcpu, host.cpu_count),
    memory_mb: Math.min(row.spec.memory_gb * 1_024, host.memory_mb),
    disk_gb: row.containerDiskGb,
    gpu_uuids: row.gpuUuids,
    env: row.env,
    command: row.startCommand ? ['sh', '-c', row.startCommand] : null,
    on_command_end: row.onCommandEnd,
    ports: [...new Set([...row.httpPorts, ...row.tcpPorts])],
    ...(row.udpPorts.length > 0 && { udp_ports: [...new Set(row.udpPorts)] }),
    ...(volumes.length > 0 && { volumes }),
    ...(ssh && sshPart(ssh)),
  }
}

function sshPart({
  keys,
  own,
}: {
  keys: Pick<SshKey, 'public_key'>[]
  own: GuestKeys
}): Partial<MachineSpec> {
  return {
    ...(keys.length > 0 && { ssh_keys: keys.map(({ public_key }) => public_key) }),
    ssh_access: { key: own.signIn.public, private_key: own.signIn.private, host_key: own.host },
  }
}

/**
 * What a customer should know of a machine: how strong its walls are, and of its limits what is not as it seems.
 * @param facts The engine's, as found out at start; what an engine said to an older version lacks some.
 */
export function machineNotes(
  { spec, ...row }: Pick<InstanceRow, 'spec'> & OwnDiskColumns,
  {
    capabilities,
    size: host,
    volumes,
  }: Pick<EngineFacts, 'volumes'> & {
    capabilities: Partial<ComputeCapabilities>
    size: HostSize
  },
): MachineNote[] {
  const { walls, isolation = '', outbound_network: outbound } = capabilities
  const notes: MachineNote[] = [note(walls ? `walls_${walls}` : 'walls_told_otherwise', isolation)]
  for (const [code, limit] of [
    ['no_cpu_limit', capabilities.cpu_limit],
    ['no_memory_limit', capabilities.memory_limit],
    ['no_disk_limit', capabilities.disk_limit],
    ['no_own_disk_limit', ownDiskOf(row) ? volumes?.fixed_size : undefined],
    ['no_egress_filter', capabilities.egress_filter],
    ['root_shared', capabilities.root_apart],
    ['one_user', capabilities.own_users],
    ['home_kept_alone', capabilities.whole_disk_kept],
  ] as const) {
    if (limit?.enforced === false) notes.push(note(code, limit.why))
  }
  if (outbound?.offered === true) notes.push(note('internet', outbound.how))
  if (outbound?.offered === false) notes.push(note('no_internet', outbound.why))
  if (spec.vcpu > host.cpu_count || spec.memory_gb * 1_024 > host.memory_mb) {
    const memory_gb = Math.max(1, Math.floor(host.memory_mb / 1_024))
    notes.push({ ...note('small_host', ''), values: { cpu_count: host.cpu_count, memory_gb } })
  }
  return notes
}

function note(code: MachineNote['code'], detail: string): MachineNote {
  return { code, values: {}, detail }
}

/** An instance's name as a DNS label; the id where nothing of the name fits one. */
function hostnameOf({ id, name }: Pick<InstanceRow, 'id' | 'name'>): string {
  const label = name
    .toLowerCase()
    .replaceAll('_', '-')
    .replace(/^-+|-+$/g, '')
  return label || id
}
