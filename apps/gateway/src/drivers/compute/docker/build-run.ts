import type { Duplex } from 'node:stream'
import { PassThrough } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type Docker from 'dockerode'
import { RecipeError, type StepDeed } from '../port/dockerfile.ts'
import type { DockerfileBuild } from '../port/images.ts'
import { CLOUD_LABEL, DISK_LABEL, INSTANCE_LABEL, planContainer } from './container-plan.ts'
import type { DiskBound } from './disk-bound.ts'
import { isMissing, statusCodeOf } from './docker-errors.ts'
import { ensureNetwork } from './docker-network.ts'
import { writeStep } from './write-step.ts'

/** What a step has written is looked at this often: the engine adds it up by walking over it. */
const SIZE_LOOK_MS = 1_000
/** By which the container of a step is watched and removed as a machine's. */
const MACHINE_LABELS = [CLOUD_LABEL, INSTANCE_LABEL, DISK_LABEL]
const STATUS_CONFLICT = 409
const REMOVE_POLL_MS = 50
const REMOVE_MS_MAX = 30_000
const DEFAULT_SHELL = ['/bin/sh', '-c']

export interface BuildRunDeps {
  docker: Docker
  cloudId: string
  cpusMax: number
  runtime: string | undefined
  diskNode: string | null
  diskBound: DiskBound
  /** Called before a step runs; fails where nothing of a stranger's may start. */
  admit(): Promise<void>
}

interface RunStep extends Pick<DockerfileBuild, 'image_id' | 'limits' | 'onLog'> {
  /** The engine's own id of the image that it runs on. */
  image: string
  deed: Extract<StepDeed, { kind: 'run' }>
}

type Config = Docker.ImageInspectInfo['Config']

/**
 * Runs a step in the container of a machine that has the image's id, so that what watches, bounds and clears up machines
 * does so with it, and keeps what it has changed.
 * @returns The engine's own id of what came of it.
 * @throws RecipeError; what dockerode throws.
 */
export async function runStep(deps: BuildRunDeps, step: RunStep, signal: AbortSignal): Promise<string> {
  const { docker, cloudId } = deps
  const { Config } = await docker.getImage(step.image).inspect()
  await ensureNetwork(docker, cloudId)
  const plan = planStep(deps, step, Config)
  const container = docker.getContainer(plan.name ?? '')
  // Of a try before this one.
  await removeWhole(container)
  await docker.createContainer(plan)
  const giveUp = () => void container.remove({ force: true, v: true }).catch(() => undefined)
  signal.addEventListener('abort', giveUp, { once: true })
  try {
    signal.throwIfAborted()
    await deps.admit()
    await runToEnd(container, step, signal)
    return await commitAs(docker, container, Config)
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener('abort', giveUp)
    await removeWhole(container)
  }
}

/**
 * Keeps what a container holds as an image that says of itself what is given.
 * @returns The engine's own id of it.
 */
export async function commitAs(
  docker: Docker,
  container: Docker.Container,
  config: Config | undefined,
): Promise<string> {
  const { Cmd, Entrypoint, Labels } = config ?? {}
  // What is left out the engine takes from the container: its command, and the marks by which it is a machine's.
  const told = {
    ...config,
    Entrypoint: Entrypoint ?? [],
    Labels: { ...Object.fromEntries(MACHINE_LABELS.map(label => [label, ''])), ...Labels },
  }
  const options = { _query: { container: container.id, pause: false }, _body: told }
  // The type declarations know neither a body nor that the query has a place of its own.
  const commit = container.commit.bind(container) as unknown as (asked: object) => Promise<{ Id: string }>
  const { Id } = await commit(options)
  if (Cmd?.length || [Entrypoint ?? []].flat().length > 0) return Id
  // A command of none it takes for one that is left out.
  return writeStep(docker, { from: Id, line: 'CMD []' }, AbortSignal.timeout(REMOVE_MS_MAX))
}

/** Removes a container, and waits for a removal that is under way. */
async function removeWhole(container: Docker.Container): Promise<void> {
  const until = Date.now() + REMOVE_MS_MAX
  for (;;) {
    try {
      await container.remove({ force: true, v: true })
      return
    } catch (error) {
      if (isMissing(error)) return
      if (statusCodeOf(error) !== STATUS_CONFLICT || Date.now() > until) throw error
    }
    await delay(REMOVE_POLL_MS)
  }
}

function planStep(
  deps: BuildRunDeps,
  step: RunStep,
  config: Config | undefined,
): Docker.ContainerCreateOptions {
  const { image_id, image, limits, deed } = step
  const { cpu_count, memory_mb, disk_gb } = limits
  const spec = {
    ...{ id: image_id, hostname: image_id, cpu_count, memory_mb, disk_gb },
    image: { id: image_id, parts: {} },
    gpu_uuids: [],
    env: {},
    command: null,
    ports: [],
  }
  const origin = { entrypoint: [], command: [], env: config?.Env ?? [], size_bytes: 0 }
  const plan = planContainer({ ...deps, spec, imageRef: image, origin, publishAddress: '127.0.0.1' })
  const shell = (config as { Shell?: string[] } | undefined)?.Shell ?? DEFAULT_SHELL
  const [program = '', ...words] = 'argv' in deed ? deed.argv : [...shell, deed.script]
  return {
    ...plan,
    Labels: Object.fromEntries(MACHINE_LABELS.map(label => [label, plan.Labels?.[label] ?? ''])),
    Entrypoint: [program],
    Cmd: words,
    Tty: false,
    // Whatever the image says of probes is not for its making.
    Healthcheck: { Test: ['NONE'] },
    HostConfig: { ...plan.HostConfig, LogConfig: { Type: 'none', Config: {} } },
  }
}

async function runToEnd(
  container: Docker.Container,
  { limits, onLog }: RunStep,
  signal: AbortSignal,
): Promise<void> {
  const output = (await container.attach({ stream: true, stdout: true, stderr: true })) as unknown as Duplex
  const shown = new PassThrough()
  shown.setEncoding('utf8')
  shown.on('data', onLog)
  container.modem.demuxStream(output, shown, shown)
  const told = new Promise<void>(resolve =>
    output
      .once('end', resolve)
      .once('close', resolve)
      .once('error', () => resolve()),
  )
  const ended = container.wait({ condition: 'next-exit' }) as Promise<{ StatusCode: number }>
  ended.catch(() => undefined)
  const bytesMax = limits.disk_gb * 2 ** 30
  let isTooLarge = false
  let isLooking = false
  const timer = setInterval(() => {
    if (isLooking) return
    isLooking = true
    sizeOf(container)
      .then(bytes => {
        isTooLarge ||= bytes > bytesMax
        return isTooLarge ? container.kill() : undefined
      })
      .catch(() => undefined)
      .finally(() => {
        isLooking = false
      })
  }, SIZE_LOOK_MS)
  try {
    await container.start()
    const { StatusCode } = await ended
    await told
    signal.throwIfAborted()
    if (isTooLarge) throw new RecipeError('too_large', `a step wrote more than ${limits.disk_gb} GB`)
    if (StatusCode === 0) return
    const { State } = await container.inspect()
    const why = State.OOMKilled
      ? `it wanted more memory than ${limits.memory_mb} MB`
      : `it ended with code ${StatusCode}`
    throw new RecipeError('step_failed', why)
  } finally {
    clearInterval(timer)
    output.destroy()
  }
}

async function sizeOf(container: Docker.Container): Promise<number> {
  // The engine knows the option; the type declarations do not.
  const found = await container.inspect({ size: true } as Docker.ContainerInspectOptions)
  return (found as { SizeRw?: number }).SizeRw ?? 0
}
