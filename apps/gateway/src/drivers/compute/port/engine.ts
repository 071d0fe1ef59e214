import type { Capability } from './capability.ts'
import type { MachineConsole } from './console.ts'
import type { ImageStore } from './images.ts'
import type { Machines } from './machines.ts'
import type { MachineNetwork } from './network.ts'
import type { Observation } from './observation.ts'
import type { Part } from './part.ts'
import type { VolumeStore } from './volumes.ts'

/**
 * What owns machines: one Docker daemon, one sandbox host, later one hypervisor or cluster. What it can do comes in
 * facets, and each facet has a conformance suite of its own that every driver passes. A facet, or a part of one, that
 * an engine lacks says why (`Part`). All calls are idempotent by id: a retry after a crash finds what the first try
 * made. An engine knows nothing of customers, money or desired state.
 */
export interface Engine {
  /**
   * Names the owner of the machines for good, such as `docker:<the daemon's own id>`: the same for every gateway that
   * reaches it, and not made of an address, a gateway or a gateway's data folder.
   */
  readonly id: string

  /** Stable name of the driver, such as `sandbox` or `docker`; it picks the driver's part of an image recipe. */
  readonly driver: string

  /** What machines of this engine can be. */
  readonly kinds: readonly MachineKind[]

  /** What machines are held to here, found out when the engine was opened and shown to operators. */
  readonly capabilities: ComputeCapabilities

  readonly machines: Machines
  readonly images: ImageStore
  readonly volumes: Part<VolumeStore>
  readonly network: MachineNetwork
  readonly console: MachineConsole
  readonly observation: Observation

  /**
   * What the engine has for machines, asked from it. Fails with `engine_unavailable`, and with `EngineReplaced` when
   * another engine is in its place.
   */
  size(): Promise<EngineSize>

  /**
   * Called once when the gateway stops in good order. An engine whose machines are children of this computer's
   * session (the sandbox) stops them; one whose machines live elsewhere (Docker) leaves them running.
   * @param options.machines_stay Another gateway reaches them: they run on in either case.
   * @returns The ids of the machines that it stopped.
   */
  shutdown(options?: { machines_stay: boolean }): Promise<string[]>
}

/** A pod shares the kernel of its engine's computer; a VM has one of its own. */
export type MachineKind = 'POD' | 'VM'

/** What keeps a machine apart from others. `own_kernel` is a container that does not speak to its computer's kernel. */
export type MachineWalls =
  | 'namespaces'
  | 'container'
  | 'own_kernel'
  | 'virtual_machine'
  | 'emulated_machine'
  | 'none'

export interface ComputeCapabilities {
  /** What the walls are, for words in any language. */
  walls: MachineWalls
  /** How strong the walls are, in a sentence for the operator and the instance page. */
  isolation: string
  /** `enforced`, or why not. */
  cpu_limit: Capability
  memory_limit: Capability
  disk_limit: Capability
  /** What a machine reads from its computer's disk in a second, and writes to it. */
  disk_rate_limit: Capability
  /** What a machine sends and is sent in a second. */
  network_rate_limit: Capability
  /** Whether machines reach the internet: through what, or why not. */
  outbound_network: { offered: true; how: string } | { offered: false; why: string }
  /** Whether machines are kept from their engine's computer, from private networks and from metadata services. */
  egress_filter: Capability
  /** Whether root in a machine is nobody on its engine's computer. */
  root_apart: Capability
  /** Whether a machine has users beside its root, as package managers and services need them. */
  own_users: Capability
  /** Whether all that a machine writes is there when it starts again; left out where it is. */
  whole_disk_kept?: Capability
  /** Who else than the gateway reaches machines' ports, in a sentence for the operator; null where nobody does. */
  ports_exposed: string | null
}

/** What the engine's computer has in all, taken or not. */
export interface EngineSize {
  cpu_count: number
  memory_mb: number
  /** Null where the engine does not tell. */
  disk_gb: number | null
  /** GPUs that are really there, or none. Empty means that the catalogue's specs are simulated. */
  gpus: RealGpu[]
  /** Such as no new machine gets, since they are being taken out of service and no machine has them; left out for none. */
  gpus_resting?: RealGpu[]
}

export interface RealGpu {
  /** As the vendor names it, such as `NVIDIA GeForce RTX 4090`. */
  name: string
  memory_mb: number
  uuid: string
}
