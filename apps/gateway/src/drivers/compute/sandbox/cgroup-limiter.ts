import { readFileSync, writeFileSync } from 'node:fs'
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DISK_RATE_BYTES_PER_S, VERSION_1_LACKS } from '../disk-rate.ts'
import type { Capability } from '../port/capability.ts'
import { type ControlGroup, groupMounts } from '../samples/control-groups.ts'
import type { FoundDisk, Limiter, MachineLimits } from './limiter.ts'

type Controller = 'cpu' | 'cpuacct' | 'memory' | 'pids' | 'blkio' | 'io'
const CONTROLLERS: Record<Tree['version'], Controller[]> = {
  1: ['cpu', 'cpuacct', 'memory', 'pids', 'blkio'],
  2: ['cpu', 'memory', 'pids', 'io'],
}

/** One place where groups can be made: a controller's own tree (version 1) or the common one (version 2). */
interface Tree {
  version: 1 | 2
  base: string
}

const CPU_PERIOD_US = 100_000
const RELEASE_TRIES_MAX = 50
const RELEASE_RETRY_MS = 20

/**
 * Limits by control groups, version 1 or 2, made directly in the kernel's file system. That takes root, or a
 * tree that was handed to the gateway's user. Returns why not where it does not work.
 */
export async function createCgroupLimiter(
  installation: string,
  disk: FoundDisk,
): Promise<{ limiter: Limiter } | { limiter: null; why: string }> {
  const trees = await usableTrees(`berth-${installation}`)
  if (!trees.has('cpu') && !trees.has('memory')) {
    const why =
      process.getuid?.() === 0
        ? 'the control groups of this computer are not writable here (a container, perhaps)'
        : 'control groups need root, a delegated tree, or systemd-run --user'
    return { limiter: null, why }
  }
  return { limiter: limiterOn(trees, await limitable(disk, trees)) }
}

function limiterOn(trees: Map<Controller, Tree>, disk: FoundDisk): Limiter {
  const say = (controller: Controller): Capability => {
    const tree = trees.get(controller)
    return tree
      ? { enforced: true, how: `control group version ${tree.version}` }
      : { enforced: false, why: `the ${controller} controller is not available here` }
  }
  const groups = (name: string) => [...new Set([...trees.values()].map(tree => join(tree.base, name)))]
  return {
    cpu: say('cpu'),
    memory: say('memory'),
    processes: trees.has('pids')
      ? say('pids')
      : { enforced: true, how: 'the limit on processes of a user (RLIMIT_NPROC)' },
    diskRate: sayOfDisk(trees, disk),
    prepare: async (name, limits) => {
      for (const group of groups(name)) await mkdir(group, { recursive: true })
      for (const [controller, tree] of trees) if (tree.version === 2) handDown(tree.base, controller)
      for (const [controller, tree] of trees) await writeLimit(controller, tree, name, limits)
      if ('numbers' in disk) await writeDiskRate(trees, name, disk.numbers)
      return { join_files: groups(name).map(group => join(group, 'cgroup.procs')), argv_prefix: [], env: {} }
    },
    groups: name => ({
      cpu: groupIn(trees.get('cpuacct') ?? trees.get('cpu'), name),
      memory: groupIn(trees.get('memory'), name),
    }),
    release: async name => {
      for (const group of groups(name)) await removeGroup(group)
    },
    close: async () => {
      // Refused while a machine still has its group in there, which is as it should be.
      for (const tree of trees.values()) await rmdir(tree.base).catch(() => undefined)
    },
  }
}

async function writeLimit(controller: Controller, tree: Tree, name: string, limits: MachineLimits) {
  const group = join(tree.base, name)
  const set = (file: string, value: string) => writeFile(join(group, file), value)
  const quota = Math.max(1000, Math.round(limits.cpu_count * CPU_PERIOD_US))
  const bytes = String(limits.memory_mb * 1024 * 1024)
  if (controller === 'cpu' && tree.version === 1) {
    await set('cpu.cfs_period_us', String(CPU_PERIOD_US))
    await set('cpu.cfs_quota_us', String(quota))
  }
  if (controller === 'cpu' && tree.version === 2) await set('cpu.max', `${quota} ${CPU_PERIOD_US}`)
  if (controller === 'memory' && tree.version === 1) await set('memory.limit_in_bytes', bytes)
  if (controller === 'memory' && tree.version === 2) {
    await set('memory.max', bytes)
    await set('memory.swap.max', '0').catch(() => undefined)
  }
  if (controller === 'pids') await set('pids.max', String(limits.processesMax))
}

/** Whether the kernel takes limits for the disk, found out by trying. */
async function limitable(disk: FoundDisk, trees: Map<Controller, Tree>): Promise<FoundDisk> {
  const tree = trees.get('blkio') ?? trees.get('io')
  if ('why' in disk || !tree) return disk
  const trial = `trial-${process.pid}`
  try {
    await mkdir(join(tree.base, trial))
    await writeDiskRate(trees, trial, disk.numbers)
    return disk
  } catch (error) {
    return { why: `the kernel takes no limit for ${disk.node} (${(error as Error).message})` }
  } finally {
    await rmdir(join(tree.base, trial)).catch(() => undefined)
  }
}

/** What is read, and what is written: the kernel counts each by itself, and knows whole disks by their numbers. */
async function writeDiskRate(trees: Map<Controller, Tree>, name: string, numbers: string): Promise<void> {
  const v1 = trees.get('blkio')
  const v2 = trees.get('io')
  if (v1) {
    const rate = `${numbers} ${DISK_RATE_BYTES_PER_S}`
    for (const way of ['read', 'write'])
      await writeFile(join(v1.base, name, `blkio.throttle.${way}_bps_device`), rate)
  }
  if (v2) {
    const rates = `rbps=${DISK_RATE_BYTES_PER_S} wbps=${DISK_RATE_BYTES_PER_S}`
    await writeFile(join(v2.base, name, 'io.max'), `${numbers} ${rates}`)
  }
}

function sayOfDisk(trees: Map<Controller, Tree>, disk: FoundDisk): Capability {
  if ('why' in disk) return { enforced: false, why: disk.why }
  if (trees.has('io')) return { enforced: true, how: 'control group version 2' }
  if (!trees.has('blkio')) return { enforced: false, why: 'the io controller is not available here' }
  return { enforced: false, why: VERSION_1_LACKS }
}

/** The group of a machine in a tree; null where there is none, or where that counts nothing. */
function groupIn(tree: Tree | undefined, name: string): ControlGroup | null {
  return tree ? { version: tree.version, dir: join(tree.base, name) } : null
}

/** Removes a group. The kernel refuses for a moment after the last process was killed. */
async function removeGroup(group: string): Promise<void> {
  for (let tries = 0; tries < RELEASE_TRIES_MAX; tries++) {
    try {
      await rmdir(group)
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
      for (const pid of await leftIn(group)) killQuietly(pid)
      await new Promise(resolve => setTimeout(resolve, RELEASE_RETRY_MS))
    }
  }
}

async function leftIn(group: string): Promise<number[]> {
  const text = await readFile(join(group, 'cgroup.procs'), 'utf8').catch(() => '')
  return text.split('\n').filter(Boolean).map(Number)
}

/** Where groups can really be made and limits really set, found out by trying. */
async function usableTrees(folder: string): Promise<Map<Controller, Tree>> {
  const trees = new Map<Controller, Tree>()
  const mounts = groupMounts()
  for (const controller of CONTROLLERS[1]) {
    const mount = mounts.v1.get(controller)
    if (!mount) continue
    const base = join(mount, folder)
    if (await canMakeGroups(base)) trees.set(controller, { version: 1, base })
  }
  if (trees.size > 0 || !mounts.v2) return trees

  const base = join(mounts.v2, folder)
  if (!(await canMakeGroups(base))) return trees
  for (const controller of CONTROLLERS[2]) {
    if (handDown(mounts.v2, controller) && handDown(base, controller))
      trees.set(controller, { version: 2, base })
  }
  return trees
}

async function canMakeGroups(base: string): Promise<boolean> {
  const trial = join(base, `trial-${process.pid}`)
  try {
    await mkdir(trial, { recursive: true })
    await rmdir(trial)
    return true
  } catch {
    return false
  }
}

function handDown(group: string, controller: string): boolean {
  try {
    const file = join(group, 'cgroup.subtree_control')
    if (!readFileSync(file, 'utf8').split(/\s/).includes(controller)) writeFileSync(file, `+${controller}`)
    return true
  } catch {
    return false
  }
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended by itself in the meantime.
  }
}
