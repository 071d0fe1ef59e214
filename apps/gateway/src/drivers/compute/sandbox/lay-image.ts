import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { z } from 'zod'
import { overInherited } from '../inherited-files.ts'
import type { ImageRecord } from '../oci/image-record.ts'
import type { ImageStore } from '../oci/image-store.ts'
import type { UnpackAnswer, UnpackOrders } from '../oci/unpack/unpack-orders.ts'
import { COMMAND_PAUSES } from '../port/command-end.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { MachineSpec } from '../port/machines.ts'
import type { FilterLoader } from './filter-loader.ts'
import { homeMounting } from './home-images.ts'
import { aborted, withAdmission } from './launch.ts'
import type { Limiter } from './limiter.ts'
import type { MachineImage, MachinePaths } from './machine-store.ts'
import { hostViewPlan } from './plan-machine.ts'
import type { Launcher } from './probe-sandbox.ts'
import { type AgentFiles, etcFiles, writeEtc, writeInsideFile } from './root-view.ts'

const GB = 1024 ** 3
/** Layers may write one file several times over. */
const BYTES_FOR_EACH_OF_THE_DISK = 2
/** Ten times what the largest images have. */
const FILES_MAX = 3_000_000
/** The largest image that fits is laid in less, on a disk that is slow. */
const UNPACK_TIMEOUT_MS = 30 * 60_000
const HEAP_MB_MAX = 512
const ANSWER_CHARS_MAX = 4_096

const userSchema = z.object({
  uid: z.int().min(0),
  gid: z.int().min(0),
  name: z.string().max(256),
  home: z.string().startsWith('/').max(4_096),
})
const answerSchema = z.union([z.object({ user: userSchema }), z.object({ failed: z.string() })])

export interface LayImageDeps {
  images: ImageStore
  launcher: Launcher
  limiter: Limiter
  agent: AgentFiles
  filter: FilterLoader
  processesMax: number
}

/**
 * Lays images into machines' new roots. That is done within the walls of a machine, by a process with that machine's
 * user and limits, which can write to nothing but the root: what is in an image never runs or is read in the gateway.
 */
export function createImageLayer(deps: LayImageDeps) {
  /**
   * Lays an image into the empty home of a machine that was not made yet.
   * @returns What the machine goes by of its image from then on.
   * @throws ComputeError `image_unavailable` where it is none, or does not fit; `failed` where it was not fetched.
   */
  return async function layImage(
    spec: MachineSpec,
    where: { reference: string; paths: MachinePaths; uid: number | null },
    signal: AbortSignal,
  ): Promise<MachineImage> {
    const found = await deps.images.layersOf({ reference: where.reference, owner: spec.image.owner })
    if (!found) throw new ComputeError('failed', `${where.reference} was not fetched yet`)
    const { record, layers } = found
    const { paths, uid } = where
    const orders: UnpackOrders = {
      layers: record.layers.map(({ packing, diff_id }, at) => ({ path: `/layers/${at}`, packing, diff_id })),
      bytes_max: (spec.disk_gb || 1) * GB * BYTES_FOR_EACH_OF_THE_DISK,
      files_max: FILES_MAX,
      files: etcFiles(spec.hostname),
      user: record.user,
      working_dir: record.working_dir,
    }
    const [admission] = await Promise.all([
      deps.limiter.prepare(spec.id, { ...spec, processesMax: deps.processesMax }),
      writeEtc(paths, spec.hostname),
      writeInsideFile(paths, { command: null, on_command_end: 'keep', pauses: COMMAND_PAUSES, env: {} }),
    ])
    const program = ['/.berth/node', `--max-old-space-size=${HEAP_MB_MAX}`, '/.berth/agent/unpack.mjs']
    const plan = hostViewPlan({ ...deps, spec, uid, paths, command: [...program, JSON.stringify(orders)] })
    plan.steps.push(
      { do: 'dir', at: '/layers' },
      ...layers.map((from, at) => ({ do: 'bind', from, at: `/layers/${at}`, kind: 'file' }) as const),
    )
    try {
      const argv = withAdmission([...(await homeMounting(paths)), ...deps.launcher.argv(plan)], admission)
      const { user } = await unpack(argv, { env: admission.env, reference: where.reference, signal })
      return machineImage(record, user)
    } finally {
      await deps.limiter.release(spec.id)
    }
  }
}

export type LayImage = ReturnType<typeof createImageLayer>

function machineImage(record: ImageRecord, user: UnpackAnswer['user']): MachineImage {
  const { entrypoint, command, env, working_dir } = record
  return { entrypoint, command, env, working_dir, user }
}

/** Runs the process that unpacks, and gives what it says. It ends with this one, since file 3 is closed then. */
async function unpack(
  argv: string[],
  options: { env: Record<string, string>; reference: string; signal: AbortSignal },
): Promise<UnpackAnswer> {
  const { reference } = options
  const [file = '', ...args] = argv
  const nothing = openSync('/dev/null', 'r+')
  const child = spawn(file, args, {
    cwd: '/',
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...options.env },
    detached: true,
    stdio: overInherited(['ignore', 'pipe', 'pipe', 'pipe'], nothing),
  })
  closeSync(nothing)
  let out = ''
  let said = ''
  child.stdout?.on('data', chunk => {
    out = `${out}${chunk}`.slice(0, ANSWER_CHARS_MAX)
  })
  child.stderr?.on('data', chunk => {
    said = `${said}${chunk}`.slice(-ANSWER_CHARS_MAX)
  })
  const giveUp = AbortSignal.any([options.signal, AbortSignal.timeout(UNPACK_TIMEOUT_MS)])
  const ended = once(child, 'close')
  try {
    await Promise.race([ended, aborted(giveUp)])
  } catch (error) {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    await ended.catch(() => undefined)
    throw error
  }
  const answer = answerSchema.safeParse(parse(out)).data
  if (answer && 'user' in answer) return answer
  if (answer) throw new ComputeError('image_unavailable', `${reference} cannot be unpacked: ${answer.failed}`)
  throw new ComputeError('failed', `unpacking ${reference} ended early: ${said.trim().slice(-500)}`)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
