import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Logger } from 'pino'
import { type ComputeSettings, chooseEngine } from './choose-engine.ts'
import type { DockerPlace } from './docker/docker-link.ts'
import type { EgressPolicy } from './docker/egress-guard.ts'
import { probeDocker } from './docker/probe-docker.ts'
import { type EngineDescription, placeOf } from './engine-description.ts'
import { ComputeError } from './port/compute-error.ts'
import type { EngineSource } from './port/engine-source.ts'
import type { ImageRecipe } from './port/images.ts'
import { createQemuEngine } from './qemu/qemu-engine.ts'
import { createSandboxEngine } from './sandbox/sandbox-engine.ts'

export interface EngineSourceDeps {
  /** Whose machines these are. `[a-z0-9-]`. */
  cloudId: string
  /** The folder of this computer's sandboxes, where a description names none. */
  sandboxDir: string
  /** From where paths in descriptions count. */
  baseDir: string
  /** As `ComputeSettings` has it. */
  offered?: readonly ImageRecipe[]
  /** What machines that have a network may reach; null leaves it open. */
  egress: EgressPolicy | null
  log: Logger
}

/** Makes the source of the engine that is described. Nothing is opened or read before `open`. */
export function createEngineSource(described: EngineDescription, deps: EngineSourceDeps): EngineSource {
  switch (described.driver) {
    case 'auto':
      return createAutoSource({ ...deps, kind: 'auto', dataDir: deps.sandboxDir })
    case 'sandbox': {
      const dataDir = described.dir === undefined ? deps.sandboxDir : resolve(deps.baseDir, described.dir)
      return {
        description: `sandboxes in ${dataDir}`,
        open: () =>
          createSandboxEngine({
            dataDir,
            outbound: { opened: deps.egress?.opened ?? [] },
            ...(deps.offered && { offered: deps.offered }),
            log: deps.log,
          }),
      }
    }
    case 'qemu': {
      const dataDir = resolve(deps.baseDir, described.dir)
      return {
        description: `virtual machines in ${dataDir}`,
        open: () =>
          createQemuEngine({ dataDir, outbound: { opened: deps.egress?.opened ?? [] }, log: deps.log }),
      }
    }
    case 'docker':
      return {
        description: `docker at ${described.url ?? 'its usual socket on this computer'}`,
        async open() {
          const place = await findPlace(described, deps.baseDir)
          // Only where a region has one: it is a fifth of all that a start loads.
          const { createDockerEngine } = await import('./docker/docker-engine.ts')
          return await createDockerEngine({
            place,
            cloudId: deps.cloudId,
            egress: deps.egress,
            ...(described.runtime === undefined ? {} : { runtime: described.runtime }),
            log: deps.log,
          })
        },
      }
  }
}

/** The source of what this computer can run, as far as the operator lets it. */
export function createAutoSource(settings: ComputeSettings): EngineSource {
  return {
    description: 'whatever this computer can run',
    async open() {
      const choice = await chooseEngine(settings)
      if (choice.engine) return choice.engine
      throw new ComputeError('engine_unavailable', `${choice.why}. To have one: ${choice.how_to_get_it}`)
    },
  }
}

/** Reads what the description only names. Files are read at each opening, so that a renewed one is taken. */
async function findPlace(
  described: Extract<EngineDescription, { driver: 'docker' }>,
  baseDir: string,
): Promise<DockerPlace> {
  const read = async (path: string | undefined) => {
    try {
      return await readFile(resolve(baseDir, path ?? ''), 'utf8')
    } catch (cause) {
      throw new ComputeError('engine_unavailable', `a file of the engine cannot be read: ${path}`, { cause })
    }
  }
  const place = placeOf(described.url)
  switch (place?.kind) {
    case 'tcp': {
      const [ca, cert, key] = await Promise.all([
        read(described.ca_file),
        read(described.cert_file),
        read(described.key_file),
      ])
      return { ...place, ca, cert, key, publish_address: described.publish_address ?? place.host }
    }
    case 'ssh':
      return {
        ...place,
        private_key: await read(described.key_file),
        host_key: described.host_key ?? '',
      }
    case 'unix': {
      const probe = await probeDocker(place.socket_path ?? undefined)
      if (probe.ok) return { kind: 'unix', socket_path: probe.socket_path }
      throw new ComputeError('engine_unavailable', `${probe.why}. To have it: ${probe.how_to_get_it}`)
    }
    default:
      throw new ComputeError('unsupported', `not an engine’s url: ${described.url}`)
  }
}
