import type { V1Node } from '@kubernetes/client-node'
import { ComputeError } from '../port/compute-error.ts'
import type { EngineSize, RealGpu } from '../port/engine.ts'
import { GPU_RESOURCE, GPU_TOLERATION } from './gpu-environment.ts'
import type { KubeLink } from './kube-link.ts'
import { GPUS_ANNOTATION, INSTANCE_LABEL } from './kube-names.ts'
import type { KubeObjects } from './kube-objects.ts'
import { isDraining, isKeptForGpus, isReady } from './node-drain.ts'
import { quantity } from './quantity.ts'

const GPU_MEMORY_LABEL = 'nvidia.com/gpu.memory'
/** Of GPUs on nodes that do not say what they are. */
const SOME_GPU = 'NVIDIA-GPU'
const KEPT_MS = 2_000
/** All pods of a cluster are asked for: what others take is known so much later. */
const TAKEN_KEPT_MS = 15_000
const BYTES_PER_MB = 1024 ** 2

/** GPUs that machines may have, and those of nodes that get no new ones. */
interface Gpus {
  gpus: RealGpu[]
  resting: RealGpu[]
}

const countOf = ({ gpus, resting }: Gpus) => gpus.length + resting.length

/** What the nodes of a cluster have for machines. */
export function createKubeNodes(deps: {
  link: KubeLink
  objects: KubeObjects
  /** The label by which nodes name their GPUs. */
  gpuLabel: string
  /** What nodes that take machines are labelled with. */
  selector: Readonly<Record<string, string>>
}) {
  const { link, objects, gpuLabel, selector } = deps
  let kept: { nodes: Promise<V1Node[]>; atMs: number } | null = null
  let lastGpus: Gpus = { gpus: [], resting: [] }
  let taken: { found: ReturnType<typeof takenOn>; atMs: number } | null = null

  /** Nodes that take machines now. */
  async function usable(): Promise<V1Node[]> {
    return (await all()).filter(isUsable)
  }

  function all(): Promise<V1Node[]> {
    if (!kept || performance.now() - kept.atMs > KEPT_MS) {
      kept = { nodes: list(), atMs: performance.now() }
      kept.nodes.catch(() => {
        kept = null
      })
    }
    return kept.nodes
  }

  async function list(): Promise<V1Node[]> {
    const labels = Object.entries(selector).map(([name, value]) => `${name}=${value}`)
    const { items } = await link.json<{ items: V1Node[] }>('GET', '/api/v1/nodes', {
      query: { labelSelector: labels.length > 0 ? labels.join(',') : undefined },
    })
    return items
  }

  /**
   * What the cluster has: of processors and memory what the largest node gives to pods, whether or not it is there now, since no machine has more than one
   * node; of GPUs all that machines may have, which is what nodes have less what others than machines have taken. A node that is
   * taken out of service gives no GPU to a new machine: those that machines there have go on being counted with them.
   */
  async function size(): Promise<EngineSize> {
    const nodes = await all()
    if (nodes.length === 0) {
      throw new ComputeError('engine_unavailable', 'the cluster has no node that takes machines')
    }
    const most = (name: string) =>
      Math.max(0, ...nodes.map(({ status }) => quantity(status?.allocatable?.[name])))
    const { gpus, resting } = await offeredGpus(nodes)
    return {
      cpu_count: Math.max(1, Math.floor(most('cpu'))),
      memory_mb: Math.floor(most('memory') / BYTES_PER_MB),
      disk_gb: null,
      gpus,
      ...(resting.length > 0 && { gpus_resting: resting }),
    }
  }

  /**
   * GPUs of nodes that are there; while none is, those that were last. An engine without any has specs simulated, which must not
   * come of a node that is away for a while: what asks for its GPUs then is told that no node takes it.
   */
  async function offeredGpus(nodes: V1Node[]): Promise<Gpus> {
    const there = await gpusOf(nodes.filter(isReady))
    if (countOf(there) > 0) lastGpus = there
    else if (countOf(lastGpus) === 0) lastGpus = await gpusOf(nodes)
    return lastGpus
  }

  async function gpusOf(nodes: V1Node[]): Promise<Gpus> {
    const withGpus = nodes.filter(({ status }) => quantity(status?.allocatable?.[GPU_RESOURCE]) > 0)
    if (withGpus.length === 0) return { gpus: [], resting: [] }
    if (!taken || performance.now() - taken.atMs > TAKEN_KEPT_MS) {
      taken = { found: takenOn(), atMs: performance.now() }
      taken.found.catch(() => {
        taken = null
      })
    }
    const { ids: ours, on, others } = await taken.found
    const found: Gpus = { gpus: [], resting: [] }
    for (const one of withGpus) {
      const { metadata, status } = one
      const node = metadata?.name ?? ''
      const label = metadata?.labels?.[gpuLabel] ?? SOME_GPU
      const memory_mb = Number(metadata?.labels?.[GPU_MEMORY_LABEL]) || 0
      const all = quantity(status?.allocatable?.[GPU_RESOURCE])
      const ids = Array.from({ length: all }, (_, at) => `${label}/${node}/${at}`)
      const given = ids.filter(id => ours.has(id))
      const free = ids.filter(id => !ours.has(id))
      // Those that machines were given stay in the list, whatever others took meanwhile; of a node that is taken out of service
      // as many as machines there have, whichever ids those go by.
      const count = isDraining(one)
        ? Math.min(all, on.get(node) ?? 0)
        : Math.max(given.length, all - (others.get(node) ?? 0))
      const gpuOf = (uuid: string): RealGpu => ({ name: label.replaceAll('-', ' '), memory_mb, uuid })
      const listed = [...given, ...free].map(gpuOf)
      found.gpus.push(...listed.slice(0, count))
      if (isDraining(one)) found.resting.push(...listed.slice(count))
    }
    return found
  }

  /** GPUs that machines were given, and how many of each node machines and other pods have. */
  async function takenOn(): Promise<{
    ids: Set<string>
    on: Map<string, number>
    others: Map<string, number>
  }> {
    const [machines, all] = await Promise.all([objects.listPods(INSTANCE_LABEL), podsWithNodes()])
    const uids = new Set(machines.map(({ metadata }) => metadata?.uid))
    const ids = new Set(
      machines.flatMap(({ metadata }) => metadata?.annotations?.[GPUS_ANNOTATION]?.split(',') ?? []),
    )
    const on = new Map<string, number>()
    const others = new Map<string, number>()
    for (const pod of all) {
      const node = pod.spec?.nodeName
      if (node === undefined) continue
      if (pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') continue
      const count = (pod.spec?.containers ?? []).reduce(
        (sum, { resources }) => sum + quantity(resources?.limits?.[GPU_RESOURCE]),
        0,
      )
      const counts = uids.has(pod.metadata?.uid) ? on : others
      if (count > 0) counts.set(node, (counts.get(node) ?? 0) + count)
    }
    return { ids, on, others }
  }

  async function podsWithNodes() {
    const { items } = await link.json<{ items: Awaited<ReturnType<KubeObjects['listPods']>> }>(
      'GET',
      '/api/v1/pods',
      { query: { fieldSelector: 'spec.nodeName!=' } },
    )
    return items
  }

  return {
    size,
    /** All that take machines when they are there, as they were a moment ago. */
    all,
    /** What an errand has to tolerate to be placed at all: nodes that are kept for GPUs only where there are no others. */
    errandTolerations: async () => errandTolerations(await usable()),
    selector: Object.keys(selector).length > 0 ? selector : null,
    /** Whether a node says that it has an image; nodes tell of their fifty largest. */
    async haveImage(reference: string): Promise<boolean> {
      const wanted = namesOf(reference)
      const nodes = await usable()
      return nodes.some(({ status }) =>
        status?.images?.some(({ names }) => names?.some(one => wanted.has(one))),
      )
    },
  }
}
export type KubeNodes = ReturnType<typeof createKubeNodes>

/** What a pod without GPUs has to tolerate to be placed on one of these nodes. */
export function errandTolerations(nodes: readonly Pick<V1Node, 'spec'>[]): (typeof GPU_TOLERATION)[] {
  const isKept = ({ spec }: Pick<V1Node, 'spec'>) => spec?.taints?.some(isKeptForGpus)
  return nodes.length > 0 && nodes.every(isKept) ? [GPU_TOLERATION] : []
}

/** Whether a node is there and takes pods. */
function isUsable(node: V1Node): boolean {
  return isReady(node) && !isDraining(node)
}

/** By what label nodes with a GPU of that id are found; null for one that is not told. */
export function gpuNameOf(uuids: readonly string[]): string | null {
  const name = uuids[0]?.split('/')[0]
  return name === undefined || name === SOME_GPU ? null : name
}

/** How a node may call an image. */
function namesOf(reference: string): Set<string> {
  const [name = ''] = reference.split('@')
  const tagged =
    reference.includes('@') || name.indexOf(':', name.lastIndexOf('/') + 1) >= 0
      ? reference
      : `${reference}:latest`
  return new Set([tagged, `docker.io/${tagged}`, `docker.io/library/${tagged}`])
}
