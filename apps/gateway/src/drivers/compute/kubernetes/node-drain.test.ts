import type { V1Node, V1PersistentVolume, V1Pod, V1Taint } from '@kubernetes/client-node'
import { expect, test } from 'vitest'
import { hasElsewhere, isDraining } from './node-drain.ts'

const READY = [{ type: 'Ready', status: 'True' }]

function node(
  name: string,
  part: { spec?: V1Node['spec']; labels?: Record<string, string>; gpus?: number } = {},
): V1Node {
  const allocatable = { cpu: '8', memory: '32Gi', 'nvidia.com/gpu': String(part.gpus ?? 0) }
  return {
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...part.labels } },
    ...(part.spec && { spec: part.spec }),
    status: { allocatable, conditions: READY },
  }
}

function pod(part: { gpus?: number; cpu?: string; selector?: Record<string, string> } = {}): V1Pod {
  const { gpus = 0, cpu = '1', selector } = part
  const requests = { cpu, memory: '1Gi', ...(gpus > 0 && { 'nvidia.com/gpu': String(gpus) }) }
  return {
    spec: {
      nodeName: 'one',
      containers: [{ name: 'machine', resources: { requests } }],
      ...(selector && { nodeSelector: selector }),
      ...(gpus > 0 && { tolerations: [{ key: 'nvidia.com/gpu', operator: 'Exists' }] }),
    },
  }
}

const at = (operator: string, values?: string[], key = 'kubernetes.io/hostname'): V1PersistentVolume => ({
  spec: {
    hostPath: { path: '/disk' },
    nodeAffinity: {
      required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator, ...(values && { values }) }] }] },
    },
  },
})

const taint = (key: string, effect = 'NoSchedule'): V1Taint => ({ key, effect })

test.each([
  ['nothing is said of it', {}, false],
  ['it was cordoned', { unschedulable: true }, true],
  ['an autoscaler is about to end it', { taints: [taint('ToBeDeletedByClusterAutoscaler')] }, true],
  ['its cordon has come as a taint', { taints: [taint('node.kubernetes.io/unschedulable')] }, true],
  ['it is out of service', { taints: [taint('node.kubernetes.io/out-of-service', 'NoExecute')] }, true],
  ['it is kept for GPUs', { taints: [taint('nvidia.com/gpu')] }, false],
  ['its memory is used up for now', { taints: [taint('node.kubernetes.io/memory-pressure')] }, false],
  ['others are preferred', { taints: [taint('old', 'PreferNoSchedule')] }, false],
])('a node drains or does not where %s', (_, spec, expected) => {
  expect(isDraining({ spec })).toBe(expected)
})

const cordoned = { unschedulable: true }
const one = node('one', { spec: cordoned, gpus: 8 })

test.each<[string, V1Pod, V1Node[], V1PersistentVolume[], boolean]>([
  ['there is another', pod(), [node('two')], [], true],
  ['there is none', pod(), [], [], false],
  ['the other one drains, too', pod(), [node('two', { spec: cordoned })], [], false],
  [
    'the other one is kept for GPUs',
    pod(),
    [node('two', { spec: { taints: [taint('nvidia.com/gpu')] } })],
    [],
    false,
  ],
  ['the other one has its GPUs', pod({ gpus: 8 }), [node('two', { gpus: 8 })], [], true],
  ['the other one has too few GPUs', pod({ gpus: 8 }), [node('two', { gpus: 4 })], [], false],
  ['the other one is too small', pod({ cpu: '9' }), [node('two')], [], false],
  ['the other one is none of those chosen', pod({ selector: { pool: 'a' } }), [node('two')], [], false],
  [
    'its disk is had anywhere',
    pod(),
    [node('two')],
    [{ spec: { csi: { driver: 'x', volumeHandle: 'y' } } }],
    true,
  ],
  ['its disk is had at both', pod(), [node('two')], [at('In', ['one', 'two'])], true],
  ['its disk is had at its own node alone', pod(), [node('two')], [at('In', ['one'])], false],
  ['one of its disks is', pod(), [node('two')], [at('In', ['one', 'two']), at('NotIn', ['two'])], false],
  [
    'its disk is of another zone',
    pod(),
    [node('two', { labels: { zone: 'b' } })],
    [at('In', ['a'], 'zone')],
    false,
  ],
  [
    'its disk asks for a label that is there',
    pod(),
    [node('two', { labels: { zone: 'b' } })],
    [at('Exists', undefined, 'zone')],
    true,
  ],
  ['its disk asks for what nobody knows', pod(), [node('two')], [at('Like', ['two'])], false],
  [
    'its disk is a folder of a node that nobody names',
    pod(),
    [node('two')],
    [{ spec: { hostPath: { path: '/disk' } } }],
    false,
  ],
])('a machine goes elsewhere or does not where %s', (_, machine, others, disks, expected) => {
  expect(hasElsewhere(machine, [one, ...others], disks)).toBe(expected)
})
