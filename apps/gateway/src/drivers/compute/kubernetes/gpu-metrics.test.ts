import { Readable } from 'node:stream'
import type { V1Pod } from '@kubernetes/client-node'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createGpuMetrics, readGpuMetrics } from './gpu-metrics.ts'
import type { KubeLink } from './kube-link.ts'

const EXPORTER = { namespace: 'gpu-operator', labels: { app: 'nvidia-dcgm-exporter' }, port: 9_400 }
const labelsOf = (uuid: string, pod: string, more = '') =>
  `gpu="0",UUID="${uuid}",pci_bus_id="00000000:3B:00.0",device="nvidia0",modelName="NVIDIA H100 \\"80GB\\", HBM3"${more},` +
  `Hostname="node-1",container="machine",namespace="berth-x",pod="${pod}"`
const TOLD = [
  '# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).',
  '# TYPE DCGM_FI_DEV_GPU_UTIL gauge',
  `DCGM_FI_DEV_GPU_UTIL{${labelsOf('GPU-a', 'm-1')}} 97`,
  `DCGM_FI_DEV_GPU_UTIL{${labelsOf('GPU-b', 'm-1')}} 3 1732700000000`,
  `DCGM_FI_DEV_GPU_UTIL{${labelsOf('GPU-c', 'm-2')}} NaN`,
  `DCGM_FI_DEV_GPU_UTIL{gpu="3",UUID="GPU-d",container="",namespace="",pod=""} 0`,
  // A pod of the same name that is another customer's.
  `DCGM_FI_DEV_GPU_UTIL{${labelsOf('GPU-f', 'm-1').replace('berth-x', 'berth-y')}} 50`,
  `DCGM_FI_DEV_GPU_TEMP{${labelsOf('GPU-a', 'm-1')}} 61`,
  `DCGM_FI_DEV_FB_USED{${labelsOf('GPU-a', 'm-1')}} 40512`,
  `DCGM_FI_DEV_FB_USED{${labelsOf('GPU-b', 'm-1')}} 12`,
  `DCGM_FI_DEV_FB_USED{${labelsOf('GPU-e', 'm-3', ',GPU_I_PROFILE="1g.10gb",GPU_I_ID="7"')}} 12`,
  '',
].join('\n')

const podOf = (name: string, node = 'node-1') =>
  ({ metadata: { name, namespace: 'berth-x' }, spec: { nodeName: node } }) as V1Pod

function clusterThatTells(tell: () => Readable) {
  const asked: string[] = []
  const link = {
    json: async (_method: string, path: string, about?: { query?: Record<string, unknown> }) => {
      asked.push(`${path} ${about?.query?.labelSelector} ${about?.query?.fieldSelector}`)
      const on = about?.query?.fieldSelector === 'spec.nodeName=node-1'
      return { items: on ? [{ metadata: { name: 'exporter-7' }, status: { phase: 'Running' } }] : [] }
    },
    stream: async (path: string) => {
      asked.push(path)
      return tell()
    },
  }
  return { link: link as unknown as Pick<KubeLink, 'json' | 'stream'>, asked }
}

test('[B9] what the exporter of a node tells of its GPUs is told of the machine that each is of, and asked once for all', async () => {
  const { link, asked } = clusterThatTells(() => Readable.from([Buffer.from(TOLD)]))
  const gpusOf = createGpuMetrics(link, EXPORTER)
  const [one, other] = await Promise.all([gpusOf(podOf('m-1'), 2), gpusOf(podOf('m-2'), 1)])
  expect(one).toEqual([
    { uuid: 'GPU-a', busy_percent: 97, memory_used_mb: 40_512 },
    { uuid: 'GPU-b', busy_percent: 3, memory_used_mb: 12 },
  ])
  expect(other).toEqual([{ uuid: 'GPU-c', busy_percent: null, memory_used_mb: null }])
  expect(asked).toEqual([
    '/api/v1/namespaces/gpu-operator/pods app=nvidia-dcgm-exporter spec.nodeName=node-1',
    '/api/v1/namespaces/gpu-operator/pods/exporter-7:9400/proxy/metrics',
  ])
})

test('[B9] where fewer GPUs are told of than a machine has, or none, it is not known what they do', async () => {
  const { link } = clusterThatTells(() => Readable.from([Buffer.from(TOLD)]))
  const gpusOf = createGpuMetrics(link, EXPORTER)
  expect(await gpusOf(podOf('m-1'), 3)).toBeNull()
  expect(await gpusOf(podOf('m-3'), 1)).toBeNull()
  expect(await gpusOf(podOf('m-1', 'node-2'), 2)).toBeNull()
})

test('an exporter that never ends is not read to its end', async () => {
  let pieces = 0
  const flood = function* () {
    for (;;) {
      pieces += 1
      yield Buffer.alloc(1024 * 1024, '#')
    }
  }
  const { link } = clusterThatTells(() => Readable.from(flood()))
  expect(await createGpuMetrics(link, EXPORTER)(podOf('m-1'), 2)).toBeNull()
  expect(pieces).toBeLessThan(32)
})

test('whatever an exporter says, each figure is a number from zero up or is not known', () => {
  const line = fc.oneof(
    fc.string(),
    fc
      .tuple(
        fc.constantFrom('GPU_UTIL', 'FB_USED'),
        fc.string(),
        fc.oneof(fc.string(), fc.double().map(String)),
      )
      .map(([name, uuid, value]) => `DCGM_FI_DEV_${name}{UUID="${uuid}",pod="m-1",namespace="n"} ${value}`),
  )
  fc.assert(
    fc.property(fc.array(line), lines => {
      for (const { uuid, busy_percent, memory_used_mb } of readGpuMetrics(lines.join('\n'))) {
        expect(typeof uuid).toBe('string')
        for (const figure of [busy_percent, memory_used_mb]) {
          expect(figure === null || (Number.isFinite(figure) && figure >= 0)).toBe(true)
        }
      }
    }),
  )
})
