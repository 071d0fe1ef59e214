import type { SshKey } from '@berth/contract/ssh-keys'
import type { ComputeCapabilities, EngineSize } from '../../../drivers/compute/port/engine.ts'
import type { ImageRecipe } from '../../../drivers/compute/port/images.ts'
import type { MachineSpec } from '../../../drivers/compute/port/machines.ts'
import type { InstanceRow } from '../rows.ts'

/** What the engine's computer has. */
type HostSize = Pick<EngineSize, 'cpu_count' | 'memory_mb'>

type SpecRow = Pick<
  InstanceRow,
  | 'id'
  | 'name'
  | 'spec'
  | 'containerDiskGb'
  | 'gpuUuids'
  | 'env'
  | 'startCommand'
  | 'onCommandEnd'
  | 'httpPorts'
  | 'tcpPorts'
>

/**
 * The machine that an instance asks for. CPU and memory are at most what the computer has: a catalogue's 64 GB
 * on a laptop would only make the engine refuse.
 * @param from.keys Its customer's, for machines that boot a system of their own.
 */
export function machineSpec(
  row: SpecRow,
  { image, host, keys }: { image: ImageRecipe; host: HostSize; keys: Pick<SshKey, 'public_key'>[] },
): MachineSpec {
  return {
    id: row.id,
    hostname: hostnameOf(row),
    image,
    cpu_count: Math.min(row.spec.vcpu, host.cpu_count),
    memory_mb: Math.min(row.spec.memory_gb * 1_024, host.memory_mb),
    disk_gb: row.containerDiskGb,
    gpu_uuids: row.gpuUuids,
    env: row.env,
    command: row.startCommand ? ['sh', '-c', row.startCommand] : null,
    on_command_end: row.onCommandEnd,
    ports: [...new Set([...row.httpPorts, ...row.tcpPorts])],
    ...(keys.length > 0 && { ssh_keys: keys.map(({ public_key }) => public_key) }),
  }
}

/**
 * What a customer should know of a machine: how strong its walls are, and of its limits what is not as it seems.
 * @param capabilities The driver's, as found out at start.
 */
export function machineNotes(
  spec: InstanceRow['spec'],
  capabilities: ComputeCapabilities,
  host: HostSize,
): string[] {
  const { cpu_limit, memory_limit, disk_limit, egress_filter, root_apart, own_users } = capabilities
  const limits = [cpu_limit, memory_limit, disk_limit, egress_filter, root_apart, own_users]
  // What an engine said to the version before lacks what is asked only now.
  const notes = [
    capabilities.isolation,
    ...limits.flatMap(limit => (limit?.enforced === false ? [limit.why] : [])),
  ]
  const { outbound_network: outbound } = capabilities
  // An engine told the version before only yes or no.
  if (outbound?.offered === true) notes.push(`It reaches the internet ${outbound.how}.`)
  if (outbound?.offered === false) notes.push(`It does not reach the internet: ${outbound.why}.`)
  if (spec.vcpu > host.cpu_count || spec.memory_gb * 1_024 > host.memory_mb) {
    const memoryGb = Math.max(1, Math.floor(host.memory_mb / 1_024))
    notes.push(
      `Its computer has ${host.cpu_count} CPUs and ${memoryGb} GB of memory: it has no more than that.`,
    )
  }
  return notes
}

/** An instance's name as a DNS label; the id where nothing of the name fits one. */
function hostnameOf({ id, name }: Pick<InstanceRow, 'id' | 'name'>): string {
  const label = name
    .toLowerCase()
    .replaceAll('_', '-')
    .replace(/^-+|-+$/g, '')
  return label || id
}
