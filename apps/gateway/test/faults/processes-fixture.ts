import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** A process that has to do with a data folder. */
export interface ProcessInfo {
  pid: number
  command: string
}

const END_MS = 60_000
const POLL_MS = 25

/**
 * All processes that have to do with a data folder: those that name it in their command line, as the database and the
 * launchers of machines do, and those in a mount namespace of their own that see a part of it, as all that runs in a
 * machine does. Dead ones that nobody collected yet are left out.
 * @param dataDir Below a folder whose name is unique on this computer.
 */
export function processesOf(dataDir: string): ProcessInfo[] {
  if (!existsSync('/proc/self/mountinfo')) return []
  // A mount table names paths from the root of each file system, so the unique part alone is looked for.
  const mark = join(basename(dirname(dataDir)), basename(dataDir))
  const own = namespaceOf('self', 'mnt')
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap(name => {
      const command = read(`/proc/${name}/cmdline`).replaceAll('\0', ' ').trim()
      const sees = namespaceOf(name, 'mnt') !== own && read(`/proc/${name}/mountinfo`).includes(mark)
      if (!sees && !command.includes(mark)) return []
      return isDead(name) ? [] : [{ pid: Number(name), command }]
    })
}

/**
 * The machines of a data folder that run, by id, in order: each is a process tree of its own. One that nobody knows of
 * any more is among them, so that an id may be there twice.
 */
export function machinesOf(dataDir: string): string[] {
  const own = namespaceOf('self', 'pid')
  const trees = new Map<string, string>()
  for (const { pid } of processesOf(dataDir)) {
    const tree = namespaceOf(String(pid), 'pid')
    const id = /machines\/(i-[a-z0-9]+)\//.exec(read(`/proc/${pid}/mountinfo`))?.[1]
    if (tree !== '' && tree !== own && id) trees.set(tree, id)
  }
  return [...trees.values()].sort()
}

/** Whether a process runs: one that is dead but not collected yet does not. */
export function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}/stat`) && !isDead(String(pid))
}

/** Whether a process is the first of a machine: with it ends all that runs there. */
export function isFirstProcess(pid: number): boolean {
  const ids = /^NSpid:\t(.+)$/m.exec(read(`/proc/${pid}/status`))?.[1]?.split('\t') ?? []
  return ids.length > 1 && ids.at(-1) === '1'
}

/** Kills processes with SIGKILL; one that has ended meanwhile is passed over. */
export function killProcesses(processes: readonly Pick<ProcessInfo, 'pid'>[]): void {
  for (const { pid } of processes) kill(pid)
}

/** The database's main process. */
export function postgresPid(dataDir: string): number {
  const pid = Number.parseInt(read(join(dataDir, 'postgres/postmaster.pid')), 10)
  if (!(pid > 0)) throw new Error('The database does not run.')
  return pid
}

/** Kills processes again and again until there are none. */
export async function endProcesses(find: () => ProcessInfo[]): Promise<void> {
  const deadline = performance.now() + END_MS
  for (let left = find(); left.length > 0; left = find()) {
    if (performance.now() > deadline) throw new Error(`These do not end: ${JSON.stringify(left)}`)
    killProcesses(left)
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function isDead(name: string): boolean {
  const stat = read(`/proc/${name}/stat`)
  return stat === '' || /^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2))
}

function namespaceOf(name: string, kind: 'mnt' | 'pid'): string {
  try {
    return readlinkSync(`/proc/${name}/ns/${kind}`)
  } catch {
    return ''
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
