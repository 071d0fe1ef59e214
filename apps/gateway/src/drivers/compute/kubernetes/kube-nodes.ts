import type { V1Node } from '@kubernetes/client-node'
import { ComputeError } from '../port/compute-error.ts'
import type { EngineSize, RealGpu } from '../port/engine.ts'
import { GPU_RESOURCE, GPU_TOLERATION } from './gpu-environment.ts'
import type { KubeLink } from './kube-link.ts'
import { GPUS_ANNOTATION, INSTANCE_LABEL } from './kube-names.ts'
import type { KubeObjects } from './kube-objects.ts'

const GPU_MEMORY_LABEL = 'nvidia.com/gpu.memory'
/** Of GPUs on nodes that do not say what they are. */
const SOME_GPU = 'NVIDIA-GPU'
const KEPT_MS = 2_000
/** All pods of a cluster are asked for: what others take is known so much later. */
const TAKEN_KEPT_MS = 15_000
const BYTES_PER_MB = 1024 ** 2
const FACTORS: Readonly<Record<string, number>> = {
  ...{ '': 1, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 },
  ...{ Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3, Ti: 1024 ** 4, Pi: 1024 ** 5 },
}

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
  let lastGpus: RealGpu[] = []
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
   * node; of GPUs all that machines may have, which is what nodes have less what others than machines have taken.
   */
  async function size(): Promise<EngineSize> {
    const nodes = await all()
    if (nodes.length === 0) {
      throw new ComputeError('engine_unavailable', 'the cluster has no node that takes machines')
    }
    const most = (name: string) =>
      Math.max(0, ...nodes.map(({ status }) => quantity(status?.allocatable?.[name])))
    return {
      cpu_count: Math.max(1, Math.floor(most('cpu'))),
      memory_mb: Math.floor(most('memory') / BYTES_PER_MB),
      disk_gb: null,
      gpus: await offeredGpus(nodes),
    }
  }

  /**
   * GPUs of nodes that are there; while none is, those that were last. An engine without any has specs simulated, which must not
   * come of a node that is away for a while: what asks for its GPUs then is told that no node takes it.
   */
  async function offeredGpus(nodes: V1Node[]): Promise<RealGpu[]> {
    const there = await gpusOf(nodes.filter(isUsable))
    if (there.length > 0) lastGpus = there
    else if (lastGpus.length === 0) lastGpus = await gpusOf(nodes)
    return lastGpus
  }

  async function gpusOf(nodes: V1Node[]): Promise<RealGpu[]> {
    const withGpus = nodes.filter(({ status }) => quantity(status?.allocatable?.[GPU_RESOURCE]) > 0)
    if (withGpus.length === 0) return []
    if (!taken || performance.now() - taken.atMs > TAKEN_KEPT_MS) {
      taken = { found: takenOn(), atMs: performance.now() }
      taken.found.catch(() => {
        taken = null
      })
    }
    const { ours, others } = await taken.found
    return withGpus.flatMap(({ metadata, status }) => {
      const node = metadata?.name ?? ''
      const label = metadata?.labels?.[gpuLabel] ?? SOME_GPU
      const memory_mb = Number(metadata?.labels?.[GPU_MEMORY_LABEL]) || 0
      const all = quantity(status?.allocatable?.[GPU_RESOURCE])
      const ids = Array.from({ length: all }, (_, at) => `${label}/${node}/${at}`)
      // Those that machines were given stay in the list, whatever others took meanwhile.
      const given = ids.filter(id => ours.has(id))
      const free = ids.filter(id => !ours.has(id))
      const left = Math.max(0, all - (others.get(node) ?? 0) - given.length)
      return [...given, ...free.slice(0, left)].map(uuid => ({
        name: label.replaceAll('-', ' '),
        memory_mb,
        uuid,
      }))
    })
  }

  /** GPUs that machines were given, and how many of each node pods have that are no machines of this cloud. */
  async function takenOn(): Promise<{ ours: Set<string>; others: Map<string, number> }> {
    const [machines, all] = await Promise.all([objects.listPods(INSTANCE_LABEL), podsWithNodes()])
    const uids = new Set(machines.map(({ metadata }) => metadata?.uid))
    const ours = new Set(
      machines.flatMap(({ metadata }) => metadata?.annotations?.[GPUS_ANNOTATION]?.split(',') ?? []),
    )
    const others = new Map<string, number>()
    for (const pod of all) {
      const node = pod.spec?.nodeName
      if (node === undefined || uids.has(pod.metadata?.uid)) continue
      if (pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') continue
      const count = (pod.spec?.containers ?? []).reduce(
        (sum, { resources }) => sum + quantity(resources?.limits?.[GPU_RESOURCE]),
        0,
      )
      if (count > 0) others.set(node, (others.get(node) ?? 0) + count)
    }
    return { ours, others }
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
  const isKept = ({ spec }: Pick<V1Node, 'spec'>) =>
    spec?.taints?.some(({ key, effect }) => key === GPU_RESOURCE && effect !== 'PreferNoSchedule')
  return nodes.length > 0 && nodes.every(isKept) ? [GPU_TOLERATION] : []
}

/** Whether a node is there and takes pods. */
function isUsable({ spec, status }: V1Node): boolean {
  const isReady = status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')
  return spec?.unschedulable !== true && isReady === true
}

/** By what label nodes with a GPU of that id are found; null for one that is not told. */
export function gpuNameOf(uuids: readonly string[]): string | null {
  const name = uuids[0]?.split('/')[0]
  return name === undefined || name === SOME_GPU ? null : name
}

/** A quantity as the API writes it, such as `1500m` or `64Gi`; 0 for none. */
export function quantity(text: string | undefined): number {
  const [, number, suffix = ''] = /^([0-9.]+(?:e[0-9]+)?)([A-Za-z]*)$/.exec(text ?? '') ?? []
  return number === undefined ? 0 : Number(number) * (FACTORS[suffix] ?? 1)
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
