import type { ComputeCapabilities } from '../port/engine.ts'

/** What an operator says of a cluster that its API does not tell. */
export interface KnownOfCluster {
  runtimeClass: string | null
  userNamespaces: boolean
  /** Whether the cluster's network holds policies. */
  policiesHold: boolean
  /** Whether the disks' storage class holds them to their size. */
  disksBounded: boolean
}

/** What machines of a cluster are held to. */
export function capabilitiesOf(known: KnownOfCluster): ComputeCapabilities {
  const { runtimeClass, userNamespaces, policiesHold, disksBounded } = known
  const pod = 'Each machine is a pod, in a namespace that its customer’s machines share with nobody'
  return {
    walls: 'container',
    isolation:
      runtimeClass === null
        ? `${pod}; it shares the kernel of its node with others`
        : `${pod}, run by the class ${runtimeClass}`,
    cpu_limit: { enforced: true, how: 'control groups of its node' },
    memory_limit: { enforced: true, how: 'control groups of its node' },
    disk_limit: disksBounded
      ? { enforced: true, how: 'its storage class' }
      : {
          enforced: false,
          why: 'Kubernetes does not tell whether the storage class holds a disk to its size',
        },
    disk_rate_limit: { enforced: false, why: 'Kubernetes limits no rate of disks' },
    network_rate_limit: { enforced: false, why: 'Kubernetes limits no rate of networks' },
    outbound_network: { offered: true, how: 'the cluster’s network' },
    egress_filter: policiesHold
      ? { enforced: true, how: 'a network policy of its namespace' }
      : {
          enforced: false,
          why: 'It may reach private networks: a policy denies them, and Kubernetes does not tell whether its network holds policies',
        },
    root_apart: userNamespaces
      ? { enforced: true, how: 'users of its own for each pod' }
      : { enforced: false, why: 'Root in a machine is root of its node, without most of its rights' },
    own_users: { enforced: true, how: 'it has all users that its image has' },
    whole_disk_kept: { enforced: false, why: 'Its disk holds its home; the rest goes with its pod' },
    ports_exposed: null,
  }
}
