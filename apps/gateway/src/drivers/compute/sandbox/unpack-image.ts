import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { overInherited } from '../inherited-files.ts'
import { layersOf } from '../oci/image-files.ts'
import { IMAGE_BYTES_MAX, type ImageRecord } from '../oci/image-record.ts'
import { type ImageTreesDeps, imageUserSchema } from '../oci/image-trees.ts'
import type { UnpackAnswer, UnpackOrders } from '../oci/unpack/unpack-orders.ts'
import { COMMAND_PAUSES } from '../port/command-end.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { DiskRoom } from './disk-room.ts'
import type { FilterLoader } from './filter-loader.ts'
import { aborted, withAdmission } from './launch.ts'
import type { Limiter } from './limiter.ts'
import { type MachinePaths, makeMachineFolders } from './machine-store.ts'
import { around, USERS_EACH } from './machine-users.ts'
import { hostViewPlan, machineUid } from './plan-machine.ts'
import type { Launcher } from './probe-sandbox.ts'
import { type AgentFiles, etcFiles, writeEtc, writeInsideFile } from './root-view.ts'

/** What an image may take while it is unpacked. What it says of itself is not asked. */
export const UNPACK_LIMITS = {
  bytesMax: IMAGE_BYTES_MAX,
  /** Ten times what the largest images have. */
  filesMax: 3_000_000,
  /** The largest image that fits is laid in less, on a disk that is slow. */
  timeoutMs: 30 * 60_000,
} as const
export type UnpackLimits = { readonly [Name in keyof typeof UNPACK_LIMITS]: number }
const HEAP_MB_MAX = 512
const MEMORY_MB_MAX = 2_048
const PROCESSORS_MAX = 2
const ERROR_CHARS_MAX = 4_096
const HOSTNAME = 'image'
/** Where the files of an image are in its folder. */
export const ROOT_FOLDER = 'root'

const answerLine = z.object({ user: imageUserSchema })
const failureLine = z.object({ failed: z.string(), why: z.enum(['no_room', 'damaged', 'unfit']) })
const progressLine = z.object({ bytes_done: z.number() })

export interface UnpackImageDeps {
  installation: string
  launcher: Launcher
  limiter: Limiter
  agent: AgentFiles
  filter: FilterLoader
  processesMax: number
  unpackLimits: UnpackLimits
  /** The first of the users whose files images' trees have; null where all of a tree are one user's. */
  trees: number | null
  room(): Promise<DiskRoom>
}

/**
 * Unpacks images. That is done within the walls of a machine, by a process with a user and limits of its own, which can
 * write to nothing but the new root: what is in an image never runs or is read in the gateway.
 * @returns A function that unpacks an image into a folder. It fails with ComputeError `image_unfit` where the image is
 * none that can be laid, `image_damaged` where it is not what it says, `no_room` where the disk has no room for it.
 */
export function createImageUnpacker(deps: UnpackImageDeps): ImageTreesDeps['unpack'] {
  return async function unpackImage(folder, image, { lock, onBytes, signal }) {
    const { record } = image
    const paths = pathsIn(folder)
    const name = `image-${record.manifest.slice(-12)}`
    const layers = layersOf(image)
    const orders = ordersFor(record, {
      limits: deps.unpackLimits,
      kept: (await deps.room()).kept,
      users: deps.trees === null ? null : USERS_EACH,
    })
    const uid = deps.trees ?? machineUid(deps.installation, name)
    await makeMachineFolders(paths, uid)
    const limits = {
      cpu_count: PROCESSORS_MAX,
      memory_mb: MEMORY_MB_MAX,
      processesMax: deps.processesMax,
    }
    const [admission] = await Promise.all([
      deps.limiter.prepare(name, limits),
      writeEtc(paths, HOSTNAME),
      writeInsideFile(paths, { command: null, on_command_end: 'keep', pauses: COMMAND_PAUSES, env: {} }),
    ])
    const program = ['/.berth/node', `--max-old-space-size=${HEAP_MB_MAX}`, '/.berth/agent/unpack.mjs']
    const command = [...program, JSON.stringify(orders)]
    const spec = { hostname: HOSTNAME, memory_mb: MEMORY_MB_MAX }
    const plan = hostViewPlan({ ...deps, spec, uid, paths, command })
    plan.steps.push(
      { do: 'dir', at: '/layers' },
      ...layers.map((from, at) => ({ do: 'bind', from, at: `/layers/${at}`, kind: 'file' }) as const),
    )
    try {
      const argv = withAdmission([...around(deps.trees), ...deps.launcher.argv(plan)], admission)
      const { reference } = record
      const { timeoutMs } = deps.unpackLimits
      const answer = await unpack(argv, { env: admission.env, lock, reference, onBytes, signal, timeoutMs })
      for (const path of [paths.etc, paths.run, paths.root]) await rm(path, { recursive: true })
      return answer
    } finally {
      await deps.limiter.release(name)
    }
  }
}

/** Where a folder has what a machine's folder has. */
function pathsIn(dir: string): MachinePaths {
  const [home, etc, run, root] = ['root', 'etc', 'run', 'view'].map(name => join(dir, name))
  return { dir, home: home ?? dir, etc: etc ?? dir, run: run ?? dir, root: root ?? dir }
}

function ordersFor(
  record: ImageRecord,
  { kept, users, limits }: Pick<UnpackOrders, 'kept' | 'users'> & { limits: UnpackLimits },
): UnpackOrders {
  return {
    layers: record.layers.map(({ packing, diff_id }, at) => ({ path: `/layers/${at}`, packing, diff_id })),
    bytes_max: limits.bytesMax,
    kept,
    users,
    files_max: limits.filesMax,
    files: Object.keys(etcFiles(HOSTNAME)),
    user: record.user,
    working_dir: record.working_dir,
  }
}

/** Runs the process that unpacks, and gives what it says. It ends with this one, since file 3 is closed then. */
async function unpack(
  argv: string[],
  options: {
    env: Record<string, string>
    lock: number
    reference: string
    onBytes(done: number): void
    signal: AbortSignal
    timeoutMs: number
  },
): Promise<UnpackAnswer> {
  const { reference, onBytes } = options
  const [file = '', ...args] = argv
  const nothing = openSync('/dev/null', 'r+')
  const child = spawn(file, args, {
    cwd: '/',
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...options.env },
    detached: true,
    stdio: overInherited(['ignore', 'pipe', 'pipe', 'pipe', options.lock], nothing),
  })
  closeSync(nothing)
  let answer: UnpackAnswer | null = null
  let failure: z.infer<typeof failureLine> | null = null
  let said = ''
  if (child.stdout) {
    createInterface({ input: child.stdout }).on('line', line => {
      const value = parse(line)
      answer = answerLine.safeParse(value).data ?? answer
      failure = failureLine.safeParse(value).data ?? failure
      const progress = progressLine.safeParse(value).data
      if (progress) onBytes(progress.bytes_done)
    })
  }
  child.stderr?.on('data', chunk => {
    said = `${said}${chunk}`.slice(-ERROR_CHARS_MAX)
  })
  const tooLong = AbortSignal.timeout(options.timeoutMs)
  const ended = once(child, 'close')
  try {
    await Promise.race([ended, aborted(AbortSignal.any([options.signal, tooLong]))])
  } catch (error) {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    await ended.catch(() => undefined)
    if (!tooLong.aborted || options.signal.aborted) throw error
    throw asComputeError(reference, { failed: 'it takes longer than may be', why: 'unfit' })
  }
  if (answer) return answer
  if (failure) throw asComputeError(reference, failure)
  throw new ComputeError('failed', `unpacking ${reference} ended early: ${said.trim().slice(-500)}`)
}

function asComputeError(reference: string, { failed, why }: z.infer<typeof failureLine>): ComputeError {
  const code = ({ no_room: 'no_room', damaged: 'image_damaged', unfit: 'image_unfit' } as const)[why]
  return new ComputeError(code, `${reference} cannot be unpacked: ${failed}`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
