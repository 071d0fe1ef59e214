import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Logger } from 'pino'
import { readBucketPlace } from '../../platform/config/bucket-place.ts'
import { type ComputeSettings, chooseEngine } from './choose-engine.ts'
import type { DockerPlace } from './docker/docker-link.ts'
import type { EgressPolicy } from './docker/egress-guard.ts'
import { probeDocker } from './docker/probe-docker.ts'
import { type EngineDescription, placeOf } from './engine-description.ts'
import type { ClusterTerms } from './kubernetes/kube-engine.ts'
import type { KubePlace } from './kubernetes/kube-link.ts'
import {
  type ImageRepository,
  type NodeRegistry,
  type RepositoryPlace,
  readRegistryLogin,
  readRegistryPlace,
} from './kubernetes/node-registry.ts'
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
  /** Opens a repository of a registry for images, and asks nothing yet; left out: no images are made of machines of a cluster. */
  openRepository?(place: RepositoryPlace): ImageRepository
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
    case 'kubernetes': {
      const place = clusterOf(described, deps.baseDir)
      const where = place.kind === 'in_cluster' ? 'that this gateway is in' : `of ${place.file}`
      const context = described.context === undefined ? '' : ` (${described.context})`
      return {
        description: `the Kubernetes cluster ${where}${context}`,
        async open() {
          // What speaks to Kubernetes is loaded only where a region has it.
          const { createKubeEngine } = await import('./kubernetes/kube-engine.ts')
          const { cloudId, egress, log } = deps
          const registry = await registryOf(described, deps)
          return await createKubeEngine({ place, terms: termsOf(described), cloudId, egress, registry, log })
        },
      }
    }
    case 'bucket':
      return {
        description: `volumes of objects, by ${described.place_file}`,
        async open() {
          const text = await readNamed(described.place_file, deps.baseDir)
          const place = readBucketPlace(text.trim())
          if (place?.prefix !== '')
            throw new ComputeError('unsupported', `${described.place_file} does not name a bucket`)
          const { createBucketEngine } = await import('./bucket/bucket-engine.ts')
          return await createBucketEngine(place)
        },
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

type DescribedCluster = Extract<EngineDescription, { driver: 'kubernetes' }>

function clusterOf({ kubeconfig, context }: DescribedCluster, baseDir: string): KubePlace {
  if (kubeconfig === undefined) return { kind: 'in_cluster' }
  return { kind: 'kubeconfig', file: resolve(baseDir, kubeconfig), context: context ?? null }
}

function termsOf(described: DescribedCluster): ClusterTerms {
  const { storage_class = null, runtime_class = null, gateway_namespace = null } = described
  return {
    storageClass: storage_class,
    volumeClass: described.volume_class ?? storage_class,
    volumesShared: described.shared_volumes,
    snapshotClass: described.snapshot_class ?? null,
    sizesEnforced: described.sizes_enforced,
    runtimeClass: runtime_class,
    priorityClass: described.priority_class ?? null,
    userNamespaces: described.user_namespaces,
    gpuLabel: described.gpu_label,
    nodeSelector: described.node_selector,
    policiesHold: described.network_policies === 'enforced',
    reachesPods: described.in_cluster === true,
    gatewayNamespace: gateway_namespace,
    customerImages: described.customer_images === 'allowed',
    helperImage: described.helper_image,
    quota: described.customer_quota,
    gpuExporter: described.gpu_exporter ?? null,
  }
}

/** Where images that are made of machines lie. Files are read at each opening, so that a renewed login is taken. */
async function registryOf(
  { image_registry }: DescribedCluster,
  { baseDir, openRepository }: EngineSourceDeps,
): Promise<NodeRegistry | null> {
  if (!image_registry || !openRepository) return null
  const { place_file, pull_file, scratch_gb = null } = image_registry
  const place = readRegistryPlace(await readNamed(place_file, baseDir))
  if (!place) throw new ComputeError('unsupported', `${place_file} does not name a repository of a registry`)
  const { origin, host, repository, login } = place
  const pullLogin = pull_file === undefined ? null : readRegistryLogin(await readNamed(pull_file, baseDir))
  if (pull_file !== undefined && !pullLogin)
    throw new ComputeError('unsupported', `${pull_file} does not say user:password`)
  return {
    ...{ host, repository, pullLogin, scratch_gb },
    open: name => openRepository({ origin, repository: name, login }),
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

/** @throws ComputeError `engine_unavailable`. */
async function readNamed(path: string | undefined, baseDir: string): Promise<string> {
  try {
    return await readFile(resolve(baseDir, path ?? ''), 'utf8')
  } catch (cause) {
    throw new ComputeError('engine_unavailable', `a file of the engine cannot be read: ${path}`, { cause })
  }
}

/** Reads what the description only names. Files are read at each opening, so that a renewed one is taken. */
async function findPlace(
  described: Extract<EngineDescription, { driver: 'docker' }>,
  baseDir: string,
): Promise<DockerPlace> {
  const read = (path: string | undefined) => readNamed(path, baseDir)
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
