import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { COMMAND_PAUSES } from '../port/command-end.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { GuestAccess } from '../port/guest-access.ts'
import type { MachineSpec } from '../port/machines.ts'
import { createAgentClient } from '../sandbox/agent-client.ts'
import type { FilterLoader } from '../sandbox/filter-loader.ts'
import { joiningNetwork } from '../sandbox/join-network.ts'
import { INFO_FD, launchMachine } from '../sandbox/launch.ts'
import type { Limiter } from '../sandbox/limiter.ts'
import type { MachineRecord, MachineStore, ProcessIdentity } from '../sandbox/machine-store.ts'
import { makeMachineFolders } from '../sandbox/machine-store.ts'
import type { MachineNetwork, OutboundNetwork } from '../sandbox/outbound-network.ts'
import { hostViewPlan } from '../sandbox/plan-machine.ts'
import type { Launcher } from '../sandbox/probe-sandbox.ts'
import {
  type AgentFiles,
  type BoundVolume,
  type ViewStep,
  writeEtc,
  writeInsideFile,
} from '../sandbox/root-view.ts'
import { takeVolumes } from '../sandbox/take-volumes.ts'
import type { BaseStore, VmImage } from './base-store.ts'
import type { DiskFiles } from './disk-files.ts'
import { guestSeed } from './guest-seed.ts'
import { hypervisorArgv, INSIDE } from './hypervisor-argv.ts'
import { GUEST_ACCESS_FILE, type KeeperOrders } from './keeper/keeper-orders.ts'
import type { Hypervisor } from './probe-qemu.ts'

const GB = 1024 ** 3
/** What QEMU and its keeper take beside the memory that the guest sees. */
const OVERHEAD_MB = 320
/** Threads, most of which wait for the disk. */
const PROCESSES_MAX = 512
const KVM = '/dev/kvm'
/** The keeper holds little; the limit keeps V8 from putting off its cleaning. */
const KEEPER = ['/.berth/node', '--max-old-space-size=64', '/.berth/agent/keeper.mjs']

/** A machine as this driver remembers it. */
export interface VmRecord extends MachineRecord {
  vm: VmImage
}

export interface VmLaunchDeps {
  store: MachineStore
  bases: BaseStore
  folders: Pick<DiskFiles, 'give'>
  launcher: Launcher
  limiter: Limiter
  agent: AgentFiles
  /** A folder of packages, as `prepareGuestLibraries` lays it. */
  libraries: string
  filter: FilterLoader
  hypervisor: Hypervisor
  /** The way to the internet; null where machines have none. */
  outbound: OutboundNetwork | null
  /** How long a guest may be silent before that is said, in ms. */
  silentMs: number
  log: Logger
  /** Whether a machine runs. */
  runs(id: string): Promise<boolean>
}

/**
 * Starts the processes of a virtual machine: QEMU and its keeper, within the walls of a sandbox that holds nothing but
 * the machine's own files. Its processors stand still until it is let begin.
 */
export function createVmLaunch(deps: VmLaunchDeps) {
  const { store, limiter } = deps

  return async function launch(
    id: string,
    record: MachineRecord,
    signal: AbortSignal,
  ): Promise<ProcessIdentity> {
    const { spec, vm, uid } = record as VmRecord
    const paths = store.paths(id)
    const seed = join(paths.run, 'seed.iso')
    const access = spec.ssh_access?.private_key ? join(paths.run, 'access.json') : null
    const limits = { ...spec, memory_mb: spec.memory_mb + OVERHEAD_MB, processesMax: PROCESSES_MAX }
    await makeMachineFolders(paths, uid)
    return joiningNetwork(deps, { id, paths, uid }, async network => {
      try {
        const [admission] = await Promise.all([
          limiter.prepare(id, limits),
          writeEtc(paths, spec.hostname),
          writeInsideFile(paths, { command: null, on_command_end: 'keep', pauses: COMMAND_PAUSES, env: {} }),
          writeFile(seed, guestSeed(spec), { mode: 0o644 }),
          access && writeFile(access, accessText(spec), { mode: 0o644 }),
        ])
        const joined = await network
        const plan = hostViewPlan({
          ...deps,
          spec,
          uid,
          paths,
          processesMax: PROCESSES_MAX,
          network: joined ? 'joined' : 'own',
          command: [...KEEPER, JSON.stringify(ordersFor(deps, { spec, vm, network: joined }))],
        })
        const volumes = await takeVolumes(deps, id, record)
        plan.steps.push(...vmSteps(deps, vm, { seed, access }), ...volumes.map(volumeStep))
        plan.info_fd = INFO_FD
        const argv = [...(joined?.joining ?? []), ...deps.launcher.argv(plan)]
        return await launchMachine({ paths, argv, admission, agent: createAgentClient(paths.run), signal })
      } catch (error) {
        await limiter.release(id)
        throw error
      }
    })
  }
}

function ordersFor(
  { hypervisor, silentMs }: VmLaunchDeps,
  machine: { spec: MachineSpec; vm: VmImage; network: MachineNetwork | null },
): KeeperOrders {
  const { spec, vm, network } = machine
  const { format, bytes } = vm.base
  return {
    hypervisor: hypervisorArgv(hypervisor, spec, {
      kernel: vm.kernel !== null,
      initrd: vm.initrd !== null,
      cmdline: vm.cmdline,
      network: network && { ipv6: network.reaches_ipv6 },
      volumes: spec.volumes ?? [],
    }),
    disk_tool: hypervisor.disk_tool,
    disk: {
      path: INSIDE.disk,
      bytes: Math.max(bytes, spec.disk_gb * GB),
      base: { path: INSIDE.base, format },
    },
    on_command_end: (spec.command && spec.on_command_end) ?? 'keep',
    silentMs,
  }
}

/** How the keeper comes in by the guest's SSH server. */
function accessText({ ssh_access }: MachineSpec): string {
  const access = { privateKey: ssh_access?.private_key ?? '', hostKey: ssh_access?.host_key.public ?? '' }
  return JSON.stringify(access satisfies GuestAccess)
}

/** What the keeper sees beside programs: the machine's own files, and the library by which it speaks with its guest. */
function vmSteps(
  { bases, hypervisor, libraries }: VmLaunchDeps,
  vm: VmImage,
  { seed, access }: { seed: string; access: string | null },
): ViewStep[] {
  const bind = (from: string, at: string): ViewStep => ({ do: 'bind', from, at, kind: 'file' })
  return [
    { do: 'dir', at: INSIDE.folder },
    bind(bases.pathOf(vm.base.name), INSIDE.base),
    bind(seed, INSIDE.seed),
    ...(access === null ? [] : [bind(access, GUEST_ACCESS_FILE)]),
    { do: 'bind', from: libraries, at: '/.berth/node_modules', kind: 'dir' },
    ...(vm.kernel === null ? [] : [bind(bases.pathOf(vm.kernel), INSIDE.kernel)]),
    ...(vm.initrd === null ? [] : [bind(bases.pathOf(vm.initrd), INSIDE.initrd)]),
    ...(hypervisor.acceleration.name === 'kvm'
      ? [{ do: 'bind', from: KVM, at: KVM, kind: 'file', writable: true, device: true } as const]
      : []),
  ]
}

/** A volume's disk as the hypervisor opens it. */
function volumeStep({ from, read_only }: BoundVolume, index: number): ViewStep {
  const at = INSIDE.volume(index)
  return { do: 'bind', from, at, kind: 'file', ...(!read_only && { writable: true }) }
}

/**
 * Refuses what cannot be made.
 * @throws ComputeError `unsupported` where a machine's disk would hold less than its image.
 */
export function checkSize(spec: MachineSpec, { base }: VmImage): void {
  if (spec.disk_gb * GB < base.bytes) {
    const needed = Math.ceil(base.bytes / GB)
    throw new ComputeError('unsupported', `${spec.image.id} needs a disk of ${needed} GB at least`)
  }
}
