import type { V1Pod } from '@kubernetes/client-node'
import type { MachineSample } from '../port/observation.ts'
import { GPU_RESOURCE } from './gpu-environment.ts'
import type { GpuMetrics } from './gpu-metrics.ts'
import { KubeRefusal } from './kube-errors.ts'
import { runExec } from './kube-exec.ts'
import type { KubeLink } from './kube-link.ts'
import type { ReachedPod } from './kube-ports.ts'
import { MACHINE_CONTAINER } from './pod-plan.ts'
import { quantity } from './quantity.ts'

/** Kubelets measure every ten seconds; all machines of a node are one question. */
const KEPT_MS = 3_000
/** A kubelet that the gateway may not ask is asked again after this. */
const REFUSED_MS = 600_000
const BYTES_PER_MB = 1024 ** 2
const NANO_PER_PERCENT = 1e7

/** What a kubelet tells of its pods, of which more is read than is used. */
interface Summary {
  pods: {
    podRef: { name: string; namespace: string; uid: string }
    containers?: {
      name: string
      cpu?: { usageNanoCores?: number }
      memory?: { workingSetBytes?: number }
    }[]
    network?: { time: string; rxBytes?: number; txBytes?: number }
    volume?: { pvcRef?: { name: string }; usedBytes?: number }[]
  }[]
}

/** Of either version of control groups: what its machine's has counted, as a container sees it. */
const GROUP_SCRIPT =
  'cd /sys/fs/cgroup; if [ -f cpu.stat ]; then cat cpu.stat memory.current memory.stat; ' +
  'else cat cpuacct/cpuacct.usage memory/memory.usage* memory/memory.stat; fi'
const GROUP_TIMEOUT_MS = 5_000
const GROUP_KEPT_MS = 2_000
const GROUPS_MAX = 10_000
const NANO_PER_S = 1e9

interface PodMetrics {
  containers: { name: string; usage: { cpu: string; memory: string } }[]
}

/**
 * Measures machines by the word of their nodes' kubelets; where those may not be asked, of the metrics API; and where there is
 * none, by what their control groups say within, which is their customers' word: nothing that is paid for is told by that.
 * @param gpusOf Measures GPUs; null where nobody said what does.
 */
export function createKubeSampler(link: KubeLink, gpusOf: GpuMetrics | null) {
  const kept = new Map<string, { atMs: number; summary: Promise<Summary | null> }>()
  let refusedMs = Number.NEGATIVE_INFINITY

  function summaryOf(node: string): Promise<Summary | null> {
    const known = kept.get(node)
    if (known && performance.now() - known.atMs < KEPT_MS) return known.summary
    const asked = link.json<Summary>('GET', `/api/v1/nodes/${node}/proxy/stats/summary`).catch(error => {
      // It may not, or the API server leads to no kubelet there.
      if (error instanceof KubeRefusal && [400, 403].includes(error.status)) refusedMs = performance.now()
      return null
    })
    kept.set(node, { atMs: performance.now(), summary: asked })
    return asked
  }

  async function byKubelet(pod: V1Pod): Promise<Partial<MachineSample> | null> {
    if (performance.now() - refusedMs < REFUSED_MS) return null
    const summary = await summaryOf(pod.spec?.nodeName ?? '')
    const found = summary?.pods.find(({ podRef }) => podRef.uid === pod.metadata?.uid)
    if (!found) return null
    const own = found.containers?.find(({ name }) => name === MACHINE_CONTAINER)
    const disk = found.volume?.find(({ pvcRef }) => pvcRef?.name === pod.metadata?.name)
    return {
      cpu_percent: own?.cpu?.usageNanoCores === undefined ? null : own.cpu.usageNanoCores / NANO_PER_PERCENT,
      memory_used_mb: inMb(own?.memory?.workingSetBytes),
      disk_used_mb: inMb(disk?.usedBytes),
      network_received_bytes: found.network?.rxBytes ?? null,
      network_sent_bytes: found.network?.txBytes ?? null,
      network_at: found.network?.rxBytes === undefined ? null : new Date(found.network.time),
    }
  }

  async function byMetrics({ namespace, pod }: ReachedPod): Promise<Partial<MachineSample> | null> {
    const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods/${pod}`
    const found = await link.json<PodMetrics>('GET', path).catch(() => null)
    const own = found?.containers.find(({ name }) => name === MACHINE_CONTAINER)
    if (!own) return null
    return {
      cpu_percent: nanoCores(own.usage.cpu) / NANO_PER_PERCENT,
      memory_used_mb: inMb(quantity(own.usage.memory)),
    }
  }

  const groups = new Map<string, { atMs: number; nanos: number | null; told: Partial<MachineSample> }>()
  async function byGroup(pod: ReachedPod): Promise<Partial<MachineSample>> {
    const before = groups.get(pod.uid)
    if (before && performance.now() - before.atMs < GROUP_KEPT_MS) return before.told
    const asked = await runExec(link, pod, ['/bin/sh', '-c', GROUP_SCRIPT], { timeout_ms: GROUP_TIMEOUT_MS })
    const atMs = performance.now()
    const { nanos, used } = readGroup(asked.stdout)
    const sinceNanos = nanos === null || before?.nanos == null ? null : nanos - before.nanos
    const told = {
      cpu_percent:
        sinceNanos === null || !before
          ? null
          : (Math.max(0, sinceNanos) / NANO_PER_S / ((atMs - before.atMs) / 1_000)) * 100,
      memory_used_mb: inMb(used),
    }
    if (groups.size >= GROUPS_MAX) groups.clear()
    groups.set(pod.uid, { atMs, nanos, told })
    return told
  }

  return {
    async sample(place: ReachedPod & { found: V1Pod }): Promise<MachineSample> {
      const { found } = place
      const limits = found.spec?.containers.find(({ name }) => name === MACHINE_CONTAINER)?.resources?.limits
      const gpuCount = Number(limits?.[GPU_RESOURCE] ?? 0)
      const [measured, gpus] = await Promise.all([
        byKubelet(found).then(async told => told ?? (await byMetrics(place)) ?? byGroup(place)),
        gpuCount === 0 ? [] : (gpusOf?.(found, gpuCount) ?? null),
      ])
      return {
        cpu_percent: null,
        memory_used_mb: null,
        disk_used_mb: null,
        network_received_bytes: null,
        network_sent_bytes: null,
        network_at: null,
        gpus,
        ...measured,
        memory_limit_mb: inMb(quantity(limits?.memory)),
        sampled_at: new Date(),
      }
    },
  }
}

/** Reads counts of a control group: of the processors in nanoseconds, of memory without what the kernel would give up first. */
function readGroup(text: string): { nanos: number | null; used: number | undefined } {
  const numbers = text.match(/^\d+$/gm)?.map(Number) ?? []
  const named = (name: string) => {
    const found = new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]
    return found === undefined ? null : Number(found)
  }
  const micros = named('usage_usec')
  const nanos = micros === null ? (numbers[0] ?? null) : micros * 1_000
  const all = micros === null ? numbers[1] : numbers[0]
  const cache = named('total_inactive_file') ?? named('inactive_file') ?? 0
  return { nanos, used: all === undefined ? undefined : Math.max(0, all - cache) }
}

function nanoCores(text: string): number {
  return text.endsWith('n') ? Number(text.slice(0, -1)) : quantity(text) * 1e9
}

function inMb(bytes: number | undefined): number | null {
  return bytes === undefined ? null : bytes / BYTES_PER_MB
}
