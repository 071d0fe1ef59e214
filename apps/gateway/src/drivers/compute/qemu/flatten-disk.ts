import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { overInherited } from '../inherited-files.ts'
import { COMMAND_PAUSES } from '../port/command-end.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { DiskRoom } from '../sandbox/disk-room.ts'
import type { FilterLoader } from '../sandbox/filter-loader.ts'
import { aborted, withAdmission } from '../sandbox/launch.ts'
import type { Limiter } from '../sandbox/limiter.ts'
import { type MachinePaths, makeMachineFolders } from '../sandbox/machine-store.ts'
import { hostViewPlan } from '../sandbox/plan-machine.ts'
import type { Launcher } from '../sandbox/probe-sandbox.ts'
import { type AgentFiles, writeEtc, writeInsideFile } from '../sandbox/root-view.ts'
import { INSIDE } from './hypervisor-argv.ts'

/** The largest disk that fits is copied in less, on a disk that is slow. */
const FLATTEN_TIMEOUT_MS = 30 * 60_000
const MEMORY_MB_MAX = 512
const PROCESSORS_MAX = 1
const PROCESSES_MAX = 64
const COMPLAINT_CHARS_MAX = 500
const HOSTNAME = 'image'
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
/** The machine's own disk, and the new one, as they are seen inside. */
const FROM = '/vm/disk'
const TO = '/root/flat.qcow2'
/** What the new one is called in its folder. */
export const FLAT_DISK = 'flat.qcow2'

/** Ends what follows when file 3 does, which is when the gateway is no more. */
const WHILE_GATEWAY_LIVES = '"$@" & work=$!; (cat <&3 >/dev/null; kill -9 "$work") & wait "$work"'

export interface FlattenDeps {
  launcher: Launcher
  limiter: Limiter
  agent: AgentFiles
  filter: FilterLoader
  disk_tool: string
  room(): Promise<DiskRoom>
}

/** A disk, and what it lies over. */
export interface StackedDisk {
  /** What the machine has written; null where it has never run. */
  overlay: string | null
  base: { path: string; format: 'raw' | 'qcow2' }
  /** As large as it may become in a file. */
  bytes: number
}

/**
 * Copies all that a disk holds into one file that lies over nothing. What a machine has made of its disk is never read in
 * the gateway: it is done within the walls of a machine, as the machine's user, who can write to nothing but the new file.
 * @param work.folder A folder for it alone, in whose `home` the file then is.
 * @param work.lock An open file that whoever does it is to hold.
 * @param onShare Called with how much of it is done, from 0 to 1.
 * @throws ComputeError `no_room` where the disk has no room for it.
 */
export async function flattenDisk(
  deps: FlattenDeps,
  disk: StackedDisk,
  work: { name: string; paths: MachinePaths; uid: number | null; lock: number },
  onShare: (share: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const { name, paths, uid } = work
  await makeMachineFolders(paths, uid)
  const { freeBytes } = await deps.room()
  const limits = { cpu_count: PROCESSORS_MAX, memory_mb: MEMORY_MB_MAX, processesMax: PROCESSES_MAX }
  const [admission] = await Promise.all([
    deps.limiter.prepare(name, limits),
    writeEtc(paths, HOSTNAME),
    writeInsideFile(paths, { command: null, on_command_end: 'keep', pauses: COMMAND_PAUSES, env: {} }),
  ])
  const from = disk.overlay === null ? { path: INSIDE.base, format: disk.base.format } : overlayInside
  const copy = [deps.disk_tool, 'convert', '-p', '-f', from.format, '-O', 'qcow2', from.path, TO]
  const bounded = ['prlimit', `--fsize=${Math.min(freeBytes, disk.bytes)}`, '--', ...copy]
  const plan = hostViewPlan({
    ...deps,
    spec: { hostname: HOSTNAME, memory_mb: MEMORY_MB_MAX },
    uid,
    paths,
    processesMax: PROCESSES_MAX,
    command: ['/bin/sh', '-c', WHILE_GATEWAY_LIVES, 'berth', ...bounded],
  })
  plan.steps.push(
    { do: 'dir', at: INSIDE.folder },
    { do: 'bind', from: disk.base.path, at: INSIDE.base, kind: 'file' },
  )
  if (disk.overlay !== null) plan.steps.push({ do: 'bind', from: disk.overlay, at: FROM, kind: 'file' })
  try {
    const argv = withAdmission(deps.launcher.argv(plan), admission)
    await run(argv, { env: admission.env, lock: work.lock, room: deps.room, onShare, signal })
  } finally {
    await deps.limiter.release(name)
  }
}

const overlayInside = { path: FROM, format: 'qcow2' } as const

/** Runs what copies. It ends with this process, and when the disk has no more than it is to have left. */
async function run(
  argv: string[],
  options: {
    env: Record<string, string>
    lock: number
    room(): Promise<DiskRoom>
    onShare(share: number): void
    signal: AbortSignal
  },
): Promise<void> {
  const [file = '', ...args] = argv
  const nothing = openSync('/dev/null', 'r+')
  const child = spawn(file, args, {
    cwd: '/',
    env: { PATH, ...options.env },
    detached: true,
    stdio: overInherited(['ignore', 'pipe', 'pipe', 'pipe', options.lock], nothing),
  })
  closeSync(nothing)
  let said = ''
  const full = new AbortController()
  child.stdout?.on('data', chunk => {
    const percent = /\((\d{1,3}\.\d\d)\/100%\)/.exec(String(chunk))?.[1]
    if (percent !== undefined) options.onShare(Math.min(1, Number(percent) / 100))
    void options.room().then(({ isShort }) => isShort && full.abort())
  })
  child.stderr?.on('data', chunk => {
    said = `${said}${chunk}`.slice(-COMPLAINT_CHARS_MAX)
  })
  const giveUp = AbortSignal.any([options.signal, full.signal, AbortSignal.timeout(FLATTEN_TIMEOUT_MS)])
  const ended = once(child, 'close')
  try {
    const [code] = (await Promise.race([ended, aborted(giveUp)])) as [number | null]
    if (code === 0) return
    const isFull = /No space left|File too large|EFBIG|ENOSPC/.test(said) || code === null || code > 128
    throw new ComputeError(isFull ? 'no_room' : 'failed', `its disk cannot be copied: ${said.trim()}`)
  } catch (error) {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, 'SIGKILL')
    await ended.catch(() => undefined)
    if (full.signal.aborted) throw new ComputeError('no_room', 'the disk of images is nearly full')
    throw error
  }
}

/** Where a folder has what a machine's folder has. */
export function flatteningPaths(dir: string): MachinePaths {
  return {
    dir,
    home: join(dir, 'home'),
    etc: join(dir, 'etc'),
    run: join(dir, 'run'),
    root: join(dir, 'root'),
  }
}
