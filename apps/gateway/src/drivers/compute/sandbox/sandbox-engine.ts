import { createHash } from 'node:crypto'
import { mkdir, realpath } from 'node:fs/promises'
import type { Logger } from 'pino'
import { type Clock, systemClock } from '../../../platform/clock.ts'
import { findDisk } from '../disk-rate.ts'
import { HOSTNAME_PATTERN, MACHINE_ID_PATTERN } from '../machine-id.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { ComputeCapabilities, Engine } from '../port/engine.ts'
import type { ImageRecipe } from '../port/images.ts'
import type { MachineSpec } from '../port/machines.ts'
import { checkMounts } from '../volume-mounts.ts'
import { prepareAgentFiles } from './agent-scripts.ts'
import { diskRoom } from './disk-room.ts'
import { createDiskWatch } from './disk-watch.ts'
import { PROCESSES_MAX } from './enter-script.ts'
import { createEraser } from './eraser.ts'
import { type FilterLoader, findFilterLoader } from './filter-loader.ts'
import { findHomeImages } from './home-images.ts'
import { readHostId, thisComputer } from './host.ts'
import { findImageTools } from './image-tools.ts'
import type { Limiter } from './limiter.ts'
import { createLimiter } from './limits.ts'
import { machineFacets } from './machine-facets.ts'
import { createMachineLaunch } from './machine-launch.ts'
import { createMachineLife } from './machine-life.ts'
import { createMachineStatus } from './machine-status.ts'
import { commandOf, createMachineStore } from './machine-store.ts'
import { around, findOwnUsers, type OwnUsers } from './machine-users.ts'
import { createMachineMaker } from './make-machine.ts'
import { createNetworkWatch } from './network-watch.ts'
import { findOutboundNetwork, networkCapabilities } from './outbound-network.ts'
import { findLauncher, type Launcher, type LauncherName } from './probe-sandbox.ts'
import { createSandboxImages } from './sandbox-images.ts'
import { createSandboxVolumes } from './sandbox-volumes.ts'
import { UNPACK_LIMITS, type UnpackLimits } from './unpack-image.ts'
import { createUserRanges, type UserRanges } from './user-ranges.ts'
import { createVolumeFolders } from './volume-folders.ts'

/** How long a machine's processes have to end in good order after they were asked to. */
const STOP_GRACE_MS = 3_000

export interface SandboxDeps {
  /** A folder for the driver alone. Two gateways with different ones never see each other's machines. */
  dataDir: string
  log: Logger
  /** Which way of making namespaces to use; without it the best that works here. */
  launcher?: LauncherName
  /** Most processes and threads of one machine. */
  processesMax?: number
  /** How machines keep their homes; without it as images of their size where that works here. */
  homes?: 'folders'
  /** How machines of images get their roots; without it over one that they share, where that works here. */
  roots?: 'copies'
  /** Which users machines of images have; without it as many as images name, where that works here. */
  users?: 'one'
  /** Images that the catalogue offers, which are kept; without it all are kept for thirty days. */
  offered?: readonly ImageRecipe[]
  /** Without it, this computer's own. */
  clock?: Clock
  /** What images may take while they are unpacked; without it as much as `UNPACK_LIMITS` says. */
  unpackLimits?: Partial<UnpackLimits>
  /** How much of the disk machines are to leave free; without it a twentieth, from 1 to 10 GB. */
  keptFreeMb?: number
  /** The way of machines to the internet, with what private networks they may reach; without it they have none. */
  outbound?: { opened: readonly string[] }
}

/**
 * Opens the engine that needs nothing but Linux: each machine is a set of namespaces on this computer. Fails with
 * `unsupported` where that cannot work (ask `probeSandbox` first). Machines outlive the gateway's crash; a new
 * engine on the same `dataDir` finds them again.
 */
export async function createSandboxEngine(deps: SandboxDeps): Promise<Engine> {
  const { launcher, ...found } = await findLauncher(deps.launcher ?? null)
  if (!launcher) throw new ComputeError('unsupported', 'why' in found ? found.why : 'no launcher')
  await mkdir(deps.dataDir, { recursive: true, mode: 0o700 })
  const dataDir = await realpath(deps.dataDir)
  const installation = createHash('sha256').update(dataDir).digest('hex').slice(0, 10)
  const log = deps.log.child({ driver: 'sandbox' })
  const [limiter, agent, hostId, homes, outbound, users] = await Promise.all([
    findDisk(dataDir).then(disk => createLimiter(installation, disk)),
    prepareAgentFiles(dataDir),
    readHostId(dataDir),
    deps.homes === 'folders' ? { images: null, why: 'homes are plain folders' } : findHomeImages(),
    deps.outbound ? findOutboundNetwork(deps.outbound.opened) : { lacks: 'no way there was asked for' },
    deps.users === 'one' ? { why: 'one user was asked for' } : findOwnUsers(dataDir),
  ])
  const room = () => diskRoom(dataDir, deps.keptFreeMb)
  const filter = await findFilterLoader(agent.scripts)
  if (filter.words === null) log.warn({ why: filter.why }, 'machines run without a filter of system calls')
  const eraser = createEraser(log)
  const store = createMachineStore(dataDir, eraser)
  const processesMax = deps.processesMax ?? PROCESSES_MAX
  const tools = await findImageTools(filter, agent)
  const counting = around(users.why === null ? users.each : null)
  const folders = createVolumeFolders({ dataDir, eraser, counting, room, log })
  const images = await createSandboxImages({
    ...{ dataDir, installation, store, eraser, homes: homes.images, tools, room, log },
    ...{ launcher, limiter, agent, filter, processesMax, trees: users.why === null ? users.trees : null },
    unpackLimits: { ...UNPACK_LIMITS, ...deps.unpackLimits },
    ...{ offered: deps.offered ?? null, clock: deps.clock ?? systemClock },
    ...(deps.roots && { roots: deps.roots }),
  })
  const { firstProcess } = createMachineStatus(store)
  const life = createMachineLife({
    store,
    folders,
    limiter,
    make: createMachineMaker({
      ...{ installation, store, homes: homes.images, roots: images.roots },
      ranges: rangesOf(users, () => createUserRanges({ dataDir, installation, store })),
    }),
    launch: createMachineLaunch({
      store,
      folders,
      launcher,
      limiter,
      agent,
      filter,
      tools,
      roots: images.roots,
      processesMax,
      outbound: 'lacks' in outbound ? null : outbound,
      log,
      runs: async id => (await firstProcess(id)) !== null,
    }),
    waits: record => commandOf(record) !== null,
    graceMs: STOP_GRACE_MS,
    room,
    log,
  })
  const diskWatch = createDiskWatch({ log, room, writers: life.writers, stop: life.stopForDisk, counting })
  const networkWatch = createNetworkWatch({ log, store })
  const found_running = await life.takeOver()
  const roots = images.shared ? 'shared' : 'copies'
  log.info({ launcher: launcher.name, roots, found_running: found_running.length }, 'sandbox ready')

  const facets = machineFacets({
    life,
    store,
    limiter,
    check: spec => {
      checkSpec(spec)
      images.check(spec.image)
    },
  })

  return {
    id: `sandbox:${hostId}`,
    driver: 'sandbox',
    kinds: ['POD'],
    capabilities: capabilitiesOf({ launcher, limiter, filter, homes, outbound, users }),
    size: () => thisComputer(dataDir),
    machines: facets.machines,
    images: images.facet,
    volumes: createSandboxVolumes(store, folders),
    network: {
      connect: facets.connect,
      udp: facets.udp,
    },
    console: {
      ...facets.console,
      programs: facets.programs,
      serial: { lacks: 'A sandbox boots no system of its own, so there is no serial line.' },
    },
    observation: {
      ...facets.observation,
      oom_kills: facets.oomKills,
      guest: { lacks: 'A sandbox boots no system of its own that could say anything.' },
    },
    shutdown: async options => {
      facets.close()
      await Promise.all([eraser.close(), diskWatch.close(), networkWatch.close(), images.close()])
      return options?.machines_stay ? [] : life.stopAll()
    },
  }
}

/** What gives machines their users; null where each has one. */
function rangesOf(users: OwnUsers, create: () => UserRanges): Pick<UserRanges, 'take'> | null {
  if (users.why !== null) return null
  const { each } = users
  return each === null ? create() : { take: async () => each }
}

function checkSpec(spec: MachineSpec): void {
  if (!MACHINE_ID_PATTERN.test(spec.id)) throw new ComputeError('unsupported', `not a machine id: ${spec.id}`)
  if (!HOSTNAME_PATTERN.test(spec.hostname)) {
    throw new ComputeError('unsupported', `not a hostname: ${spec.hostname}`)
  }
  checkMounts(spec.volumes ?? [])
  for (const { path } of spec.volumes ?? []) {
    // What a customer has put there could lead the mount elsewhere.
    if (/^\/root(\/|$)/.test(path)) {
      throw new ComputeError('unsupported', `a sandbox attaches no volume inside its home: ${path}`)
    }
  }
}

function capabilitiesOf(host: {
  launcher: Launcher
  limiter: Limiter
  filter: FilterLoader
  homes: Awaited<ReturnType<typeof findHomeImages>>
  outbound: Awaited<ReturnType<typeof findOutboundNetwork>>
  users: OwnUsers
}): ComputeCapabilities {
  const { launcher, limiter, filter, homes, outbound, users } = host
  const by = launcher.name === 'bwrap' ? 'bubblewrap' : 'unshare'
  const calls =
    filter.words === null ? `no filter of system calls (${filter.why})` : 'a filter of system calls'
  return {
    walls: 'namespaces',
    isolation:
      `A sandbox on the gateway’s own computer: Linux namespaces through ${by}, with the host’s programs read-only, ` +
      `no rights and ${calls}. ` +
      'It shares the host’s kernel, so it is for people who trust each other, not for strangers.',
    cpu_limit: limiter.cpu,
    memory_limit: limiter.memory,
    disk_limit: homes.images
      ? { enforced: true, how: 'each home is a file system of its own size, in a file' }
      : {
          enforced: false,
          why: `${homes.why}; when the disk is nearly full, the machine that takes most of it is stopped`,
        },
    disk_rate_limit: limiter.diskRate,
    ...networkCapabilities(outbound, {
      leads: 'a machine has no network but its own loopback',
      rate: 'a machine has no network but its own loopback, and the gateway takes what comes out in turns',
    }),
    root_apart: { enforced: true, how: 'user namespaces' },
    own_users:
      users.why === null
        ? { enforced: true, how: 'ranges of this computer’s user ids' }
        : {
            enforced: false,
            why:
              'A machine of an image has one user, who owns all of its files: apt-get install, chown, su and services ' +
              `that change their user do not work there (${users.why}).`,
          },
    ports_exposed: null,
  }
}
