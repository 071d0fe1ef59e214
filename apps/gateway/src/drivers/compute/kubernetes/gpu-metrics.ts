import type { V1Pod } from '@kubernetes/client-node'
import type { GpuSample } from '../port/observation.ts'
import type { KubeLink } from './kube-link.ts'
import { pathOf } from './kube-names.ts'

/** Where NVIDIA's exporter of what GPUs do runs, a pod on each node that has some. */
export interface GpuExporter {
  namespace: string
  /** By which its pods are known. */
  labels: Readonly<Record<string, string>>
  port: number
}

/** The exporter measures every thirty seconds unless it is told otherwise; all machines of a node are one question. */
const KEPT_MS = 3_000
/** Where its pod of a node is. */
const PLACE_KEPT_MS = 60_000
const NODES_MAX = 10_000
const ASK_TIMEOUT_MS = 5_000
/** Sixteen GPUs with some hundred figures each are a twentieth of it. */
const TEXT_BYTES_MAX = 4 * 1024 * 1024
const FIGURES = {
  DCGM_FI_DEV_GPU_UTIL: 'busy_percent',
  DCGM_FI_DEV_FB_USED: 'memory_used_mb',
} as const
const LINE = /^(DCGM_FI_DEV_(?:GPU_UTIL|FB_USED))\{(.*)\}\s+(\S+)/
const LABEL = /([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"/g

/** What a GPU does, and whose it is. */
export interface OwnedGpu extends GpuSample {
  namespace: string
  pod: string
}

/**
 * Makes what measures GPUs by the word of the exporter on a machine's node, which knows from the kubelet whose each of them is.
 * @returns Tells of the GPUs of one pod, in the exporter's order; null where it does not tell of all of them.
 */
export function createGpuMetrics(link: Pick<KubeLink, 'json' | 'stream'>, exporter: GpuExporter) {
  const labelSelector = Object.entries(exporter.labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',')
  const places = createKept(PLACE_KEPT_MS, async (node: string) => {
    const { items } = await link.json<{ items: V1Pod[] }>('GET', pathOf('pods', exporter.namespace), {
      query: { labelSelector, fieldSelector: `spec.nodeName=${node}` },
    })
    return items.find(({ status }) => status?.phase === 'Running')?.metadata?.name ?? null
  })
  const told = createKept(KEPT_MS, async (node: string) => {
    const name = await places(node)
    if (name === null) return []
    const path = `${pathOf('pods', exporter.namespace, `${name}:${exporter.port}`)}/proxy/metrics`
    return readGpuMetrics(await read(path))
  })

  async function read(path: string): Promise<string> {
    const signal = AbortSignal.timeout(ASK_TIMEOUT_MS)
    const pieces: Buffer[] = []
    let bytes = 0
    for await (const piece of await link.stream(path, { signal, timeoutMs: ASK_TIMEOUT_MS })) {
      bytes += piece.length
      if (bytes > TEXT_BYTES_MAX) throw new Error('what an exporter of GPUs tells is too long')
      pieces.push(piece)
    }
    return Buffer.concat(pieces).toString('utf8')
  }

  return async ({ metadata, spec }: V1Pod, count: number): Promise<GpuSample[] | null> => {
    const all = await told(spec?.nodeName ?? '').catch(() => [])
    const own = all
      .filter(({ namespace, pod }) => namespace === metadata?.namespace && pod === metadata?.name)
      .map(({ uuid, busy_percent, memory_used_mb }) => ({ uuid, busy_percent, memory_used_mb }))
    return own.length === count ? own : null
  }
}
export type GpuMetrics = ReturnType<typeof createGpuMetrics>

/**
 * Reads what an exporter tells in Prometheus' words; lines of other figures are passed over, and GPUs that are nobody's.
 * @returns Each GPU once, with null for what is not told or is no number.
 */
export function readGpuMetrics(text: string): OwnedGpu[] {
  const gpus = new Map<string, OwnedGpu>()
  for (const line of text.split('\n')) {
    const [, name, labelled = '', value = ''] = LINE.exec(line) ?? []
    if (name === undefined) continue
    const labels = new Map([...labelled.matchAll(LABEL)].map(([, label = '', said = '']) => [label, said]))
    const uuid = labels.get('UUID')
    const pod = labels.get('pod') ?? labels.get('pod_name') ?? ''
    const namespace = labels.get('namespace') ?? labels.get('pod_namespace') ?? ''
    // What a part of a GPU (MIG) does, this figure does not tell.
    if (uuid === undefined || pod === '' || labels.has('GPU_I_ID')) continue
    const gpu = gpus.get(uuid) ?? { uuid, namespace, pod, busy_percent: null, memory_used_mb: null }
    const number = Number(value)
    gpu[FIGURES[name as keyof typeof FIGURES]] = Number.isFinite(number) && number >= 0 ? number : null
    gpus.set(uuid, gpu)
  }
  return [...gpus.values()]
}

/** Asks once for many within a time, and again after what failed. */
function createKept<T>(keptMs: number, ask: (key: string) => Promise<T>) {
  const kept = new Map<string, { atMs: number; answer: Promise<T> }>()
  return (key: string): Promise<T> => {
    const known = kept.get(key)
    if (known && performance.now() - known.atMs < keptMs) return known.answer
    const asked = { atMs: performance.now(), answer: ask(key) }
    asked.answer.catch(() => kept.get(key) === asked && kept.delete(key))
    if (kept.size >= NODES_MAX) kept.clear()
    kept.set(key, asked)
    return asked.answer
  }
}
