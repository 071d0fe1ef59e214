import { createHash } from 'node:crypto'
import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { findDisk } from '../disk-rate.ts'
import { HOSTNAME_PATTERN, MACHINE_ID_PATTERN } from '../machine-id.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { ComputeCapabilities, Engine } from '../port/engine.ts'
import type { ImageRecipe } from '../port/images.ts'
import type { MachineSpec } from '../port/machines.ts'
import { prepareAgentFiles } from '../sandbox/agent-scripts.ts'
import { diskRoom } from '../sandbox/disk-room.ts'
import { createDiskWatch } from '../sandbox/disk-watch.ts'
import { createEraser } from '../sandbox/eraser.ts'
import { findFilterLoader } from '../sandbox/filter-loader.ts'
import { readHostId, thisComputer } from '../sandbox/host.ts'
import { createLimiter } from '../sandbox/limits.ts'
import { machineFacets } from '../sandbox/machine-facets.ts'
import { createMachineLife } from '../sandbox/machine-life.ts'
import { createMachineStatus } from '../sandbox/machine-status.ts'
import { createMachineStore, makeMachineFolders } from '../sandbox/machine-store.ts'
import { createNetworkWatch } from '../sandbox/network-watch.ts'
import { findOutboundNetwork, networkCapabilities } from '../sandbox/outbound-network.ts'
import { machineUid } from '../sandbox/plan-machine.ts'
import { findLauncher } from '../sandbox/probe-sandbox.ts'
import { createSandboxVolumes } from '../sandbox/sandbox-volumes.ts'
import { checkMounts } from '../volume-mounts.ts'
import { createBaseStore, namesOf } from './base-store.ts'
import { tidyBases } from './base-tidying.ts'
import { createDiskFiles } from './disk-files.ts'
import { prepareGuestLibraries } from './guest-libraries.ts'
import { createKeeperClient } from './keeper-client.ts'
import { createOwnImages } from './own-images.ts'
import { type Acceleration, findHypervisor } from './probe-qemu.ts'
import { qemuLackFor } from './qemu-recipe.ts'
import { checkSize, createVmLaunch, type VmRecord } from './vm-launch.ts'

/** How long a guest has to shut down after its power button was pressed, before the plug is pulled. */
const STOP_GRACE_MS = 20_000
/** How long a guest may say nothing before that is told: even in software a kernel speaks in less. */
const SILENT_MS = 180_000

/** What a guest finds a disk by; QEMU cuts off what is longer. */
const SERIAL_CHARS_MAX = 20

/** Type, base64 and perhaps a comment, in one line. */
const PUBLIC_KEY = /^[a-z0-9@.-]{1,64} [A-Za-z0-9+/]{1,8000}={0,2}( [^\p{Cc}\u2028\u2029]{0,8000})?$/u

export interface QemuDeps {
  /** A folder for the driver alone, in which all of its machines lie. */
  dataDir: string
  log: Logger
  /** Without it, as long as a guest usually takes. */
  stopGraceMs?: number
  /** Without it, longer than any system takes to speak. */
  guestSilentMs?: number
  /** How much of the disk machines are to leave free; without it a twentieth, from 1 to 10 GB. */
  keptFreeMb?: number
  /** The way of machines to the internet, with what private networks they may reach; without it they have none. */
  outbound?: { opened: readonly string[] }
}

/**
 * Opens the engine whose machines are computers of their own: QEMU, each in the walls of a sandbox, with a keeper that
 * speaks for it. They outlive the gateway's crash; a new engine on the same `dataDir` finds them again. Fails with
 * `unsupported`, and what to do about it, where that cannot work.
 */
export async function createQemuEngine(deps: QemuDeps): Promise<Engine> {
  const found = await findHypervisor()
  if (!found.ok) throw new ComputeError('unsupported', `${found.why}. To have it: ${found.how_to_get_it}`)
  const { hypervisor } = found
  const { launcher, ...none } = await findLauncher(null)
  if (!launcher) throw new ComputeError('unsupported', 'why' in none ? none.why : 'no launcher')
  await mkdir(deps.dataDir, { recursive: true, mode: 0o700 })
  const dataDir = await realpath(deps.dataDir)
  const installation = createHash('sha256').update(dataDir).digest('hex').slice(0, 10)
  const log = deps.log.child({ driver: 'qemu' })
  const [limiter, agent, libraries, hostId, outbound] = await Promise.all([
    findDisk(dataDir).then(disk => createLimiter(installation, disk)),
    prepareAgentFiles(dataDir),
    prepareGuestLibraries(dataDir),
    readHostId(dataDir),
    deps.outbound ? findOutboundNetwork(deps.outbound.opened) : { lacks: 'no way there was asked for' },
  ])
  const filter = await findFilterLoader(agent.scripts)
  const room = () => diskRoom(dataDir, deps.keptFreeMb)
  const eraser = createEraser(log)
  const store = createMachineStore(dataDir, eraser)
  const folders = createDiskFiles(join(dataDir, 'volumes'))
  const basesDir = join(dataDir, 'bases')
  const own = createOwnImages({
    ...{ basesDir, dir: join(dataDir, 'own'), store, eraser, room, launcher, limiter, agent, filter },
    disk_tool: hypervisor.disk_tool,
    whileStopped: (id, signal, work) => life.whileStopped(id, signal, work),
  })
  const bases = createBaseStore(basesDir, { room, findOwn: own.find })

  /** The files of the store that machines and images cannot do without. */
  async function usedNames(): Promise<Set<string>> {
    const records = await Promise.all((await store.ids()).map(id => store.readRecord(id)))
    const machines = records.flatMap(record => (record ? [(record as VmRecord).vm] : []))
    return new Set([...machines, ...(await own.all())].flatMap(namesOf))
  }

  const make = (spec: MachineSpec, signal: AbortSignal): Promise<VmRecord> =>
    bases.use(spec.image, signal, async vm => {
      checkSize(spec, vm)
      // What an earlier try has left is no part of this machine.
      await store.remove(spec.id)
      const uid = machineUid(installation, spec.id)
      await makeMachineFolders(store.paths(spec.id), uid)
      const record: VmRecord = { spec, uid, vm, has_guest: true }
      // It is written down while its image is held, so that nobody takes that for unused.
      await store.writeRecord(spec.id, record)
      return record
    })

  const { firstProcess } = createMachineStatus(store)
  const life = createMachineLife({
    store,
    limiter,
    folders,
    make,
    launch: createVmLaunch({
      store,
      bases,
      folders,
      launcher,
      limiter,
      agent,
      libraries,
      filter,
      hypervisor,
      outbound: 'lacks' in outbound ? null : outbound,
      silentMs: deps.guestSilentMs ?? SILENT_MS,
      log,
      runs: async id => (await firstProcess(id)) !== null,
    }),
    waits: () => true,
    graceMs: deps.stopGraceMs ?? STOP_GRACE_MS,
    room,
    log,
  })
  const diskWatch = createDiskWatch({ log, room, writers: life.writers, stop: life.stopForDisk })
  const networkWatch = createNetworkWatch({ log, store })
  const tidying = tidyBases({ dir: basesDir, usedNames, also: own.tidy, log })
  const facets = machineFacets({ life, store, limiter, check: checkSpec })
  const found_running = await life.takeOver()
  log.info({ acceleration: hypervisor.acceleration, found_running: found_running.length }, 'qemu ready')

  return {
    id: `qemu:${hostId}`,
    driver: 'qemu',
    kinds: ['VM'],
    capabilities: capabilitiesOf(hypervisor.acceleration, outbound),
    size: () => thisComputer(dataDir),
    machines: facets.machines,
    images: {
      lackFor: qemuLackFor,
      has: bases.has,
      async pull(image, onProgress, signal) {
        mustBeMakeable(image)
        await bases.fetch(image, onProgress, signal)
        const { bytes } = await bases.use(image, signal, async ({ base }) => base)
        onProgress({ bytes_done: bytes, bytes_total: bytes })
      },
      own: own.facet,
      dockerfile: { lacks: 'A virtual machine boots a disk, which no Dockerfile makes.' },
    },
    volumes: createSandboxVolumes(store, folders.kept),
    network: {
      connect: facets.connect,
      udp: facets.udp,
    },
    console: {
      ...facets.console,
      programs: { run: (id, options) => sinceRestart(facets.programs.run(id, options)) },
      serial: {
        open: id => facets.talk(id, () => createKeeperClient(store.paths(id).run).serial()),
      },
    },
    observation: {
      ...facets.observation,
      oom_kills: {
        lacks: 'A guest’s own system decides what to end when its memory is used up, and tells nobody.',
      },
      guest: { facts: id => facets.talk(id, () => createKeeperClient(store.paths(id).run).facts()) },
    },
    shutdown: async options => {
      facets.close()
      await Promise.all([eraser.close(), diskWatch.close(), networkWatch.close(), tidying.close()])
      return options?.machines_stay ? [] : life.stopAll()
    },
  }
}

/** Keepers of earlier versions refuse to run anything. */
async function sinceRestart<T>(asked: Promise<T>): Promise<T> {
  return asked.catch(error => {
    if (!(error instanceof ComputeError) || error.code !== 'unsupported') throw error
    throw new ComputeError('outdated', 'the machine was started by an earlier version; restart it')
  })
}

function mustBeMakeable(image: ImageRecipe): void {
  const why = qemuLackFor(image)
  if (why !== null) throw new ComputeError('image_unavailable', why)
}

function checkSpec(spec: MachineSpec): void {
  const refuse = (why: string) => {
    throw new ComputeError('unsupported', why)
  }
  if (!MACHINE_ID_PATTERN.test(spec.id)) refuse(`not a machine id: ${spec.id}`)
  if (!HOSTNAME_PATTERN.test(spec.hostname)) refuse(`not a hostname: ${spec.hostname}`)
  checkMounts(spec.volumes ?? [])
  if (spec.volumes?.some(({ id }) => id.length > SERIAL_CHARS_MAX)) refuse('no disk has so long a name')
  if (spec.gpu_uuids.length > 0) refuse('GPUs are not passed into virtual machines')
  const { ssh_keys = [], ssh_access } = spec
  const keys = [...ssh_keys, ...(ssh_access ? [ssh_access.key, ssh_access.host_key.public] : [])]
  if (!keys.every(key => PUBLIC_KEY.test(key))) refuse('not a public key of SSH')
  mustBeMakeable(spec.image)
}

function capabilitiesOf(
  acceleration: Acceleration,
  outbound: Awaited<ReturnType<typeof findOutboundNetwork>>,
): ComputeCapabilities {
  const how =
    acceleration.name === 'kvm'
      ? 'It runs on the processor itself, by KVM.'
      : `Its processors are emulated in software, which is many times slower: ${acceleration.why}.`
  const own = (what: string) => ({ enforced: true as const, how: what })
  return {
    walls: acceleration.name === 'kvm' ? 'virtual_machine' : 'emulated_machine',
    isolation: `A virtual machine with a kernel of its own. ${how} QEMU itself runs without rights, in a sandbox.`,
    cpu_limit: own('it has so many processors'),
    memory_limit: own('it has so much memory'),
    disk_limit: own('its disk has that size'),
    disk_rate_limit: own('QEMU holds its disk to it'),
    ...networkCapabilities(outbound, {
      leads: 'its network leads to the gateway alone',
      rate: 'its network leads to the gateway alone, which takes what comes out in turns',
    }),
    root_apart: own('its root is one of a kernel of its own'),
    own_users: own('its users are those of a kernel of its own'),
    ports_exposed: null,
  }
}
