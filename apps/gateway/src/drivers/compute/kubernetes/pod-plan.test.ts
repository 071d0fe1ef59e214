import type { V1Node, V1Pod, V1PodSpec } from '@kubernetes/client-node'
import { describe, expect, test } from 'vitest'
import { isLeftErrand, isLeftLaying, laysTooLong, planErrand } from './errand-pod.ts'
import { createNames } from './kube-names.ts'
import { errandTolerations } from './kube-nodes.ts'
import { type MachineOrders, planPod } from './pod-plan.ts'

const names = createNames('cloud')
const GPU_TAINT = { key: 'nvidia.com/gpu', operator: 'Exists' }
const NOW = Date.parse('2026-11-27T12:00:00Z')
const secondsAgo = (seconds: number) => new Date(NOW - seconds * 1_000)

function podOf(part: { gpus?: number; env?: string[]; isLaid?: boolean; priorityClass?: string }): V1PodSpec {
  const orders: MachineOrders = {
    spec: {
      ...{ id: 'one', hostname: 'one', cpu_count: 1, memory_mb: 256, disk_gb: 1, command: null, ports: [] },
      gpu_uuids: Array.from({ length: part.gpus ?? 0 }, (_, at) => `H100/node/${at}`),
    },
    env: part.env ?? [],
    image: {
      ...{ reference: 'debian:12', is_pulled: true, entrypoint: [], command: ['bash'] },
      ...{ home: '/root', is_user: false, pull_secret: null },
    },
  }
  const terms = {
    ...{ cloudId: 'cloud', names, runtimeClass: null, userNamespaces: false, nodeSelector: {} },
    gpuLabel: 'nvidia.com/gpu.product',
    priorityClass: part.priorityClass ?? null,
  }
  const plan = planPod({
    ...{ terms, orders, namespace: 'berth-x', gpuName: null, owner: {} },
    isLaid: part.isLaid ?? false,
  })
  return plan.spec as V1PodSpec
}

function errand(tolerations = errandTolerations([])): V1PodSpec {
  const plan = planErrand({
    ...{ cloudId: 'cloud', place: { namespace: 'berth-x', name: 'pull-x' }, what: 'pull', tolerations },
    deadlineMs: 60_000,
    container: { image: 'debian:12', script: 'exit 0', cpu: '100m' },
  })
  return plan.spec as V1PodSpec
}

const VOID = { name: 'NVIDIA_VISIBLE_DEVICES', value: 'void' }

describe('GPUs that were not sold', () => {
  test('come into no container that was given none, whatever its image or customer says', () => {
    const { containers, initContainers = [] } = podOf({ env: ['NVIDIA_VISIBLE_DEVICES', 'WORD'] })
    for (const container of [...containers, ...initContainers, ...errand().containers]) {
      expect(container.env?.filter(({ name }) => name.startsWith('NVIDIA'))).toEqual([VOID])
      expect(container.resources?.limits).not.toHaveProperty('nvidia.com/gpu')
    }
    expect(containers[0]?.env?.map(({ name }) => name)).toEqual(['NVIDIA_VISIBLE_DEVICES', 'WORD'])
  })

  test('are not chosen by a customer who has some', () => {
    const chosen = [
      ...['NVIDIA_VISIBLE_DEVICES', 'NVIDIA_IMEX_CHANNELS', 'NVIDIA_MIG_CONFIG_DEVICES'],
      ...['NVIDIA_NVSWITCH', 'AMD_VISIBLE_DEVICES', 'HABANA_VISIBLE_DEVICES'],
    ]
    const free = ['NVIDIA_DRIVER_CAPABILITIES', 'CUDA_VISIBLE_DEVICES', 'WORD']
    const { containers, initContainers } = podOf({ gpus: 2, env: [...chosen, ...free] })
    expect(containers[0]?.env?.map(({ name }) => name)).toEqual(free)
    // Each value is still its own.
    expect(containers[0]?.env?.map(({ valueFrom }) => valueFrom?.secretKeyRef?.key)).toEqual([
      ...['env-6', 'env-7', 'env-8'],
    ])
    expect(initContainers?.[0]?.env).toEqual([VOID])
  })

  test('keep errands away from their nodes, unless there are no others', () => {
    const gpu: V1Node = { spec: { taints: [{ key: 'nvidia.com/gpu', effect: 'NoSchedule' }] } }
    expect(errand(errandTolerations([gpu, { spec: {} }])).tolerations).toBeUndefined()
    expect(errand(errandTolerations([gpu, gpu])).tolerations).toEqual([GPU_TAINT])
    expect(errand(errandTolerations([])).tolerations).toBeUndefined()
  })
})

describe('what runs before anybody pays', () => {
  test('is ended by the cluster itself, and has next to no processor', () => {
    expect(errand()).toMatchObject({ activeDeadlineSeconds: 60, restartPolicy: 'Never' })
    expect(errand().containers[0]?.resources?.limits).toEqual({ cpu: '100m', memory: '128Mi' })
  })

  const begun = (at: Date) => ({ state: { running: { startedAt: at } } })
  const pod = (made: Date, status: object) => ({ metadata: { creationTimestamp: made }, status }) as V1Pod
  test.each([
    ['done', pod(secondsAgo(5), { phase: 'Succeeded' }), true],
    ['waits for its image', pod(secondsAgo(600), { phase: 'Pending' }), false],
    ['waits for longer than any may', pod(secondsAgo(3_700), { phase: 'Pending' }), true],
    ['has just begun', pod(secondsAgo(600), { containerStatuses: [begun(secondsAgo(5))] }), false],
    ['runs on', pod(secondsAgo(600), { containerStatuses: [begun(secondsAgo(90))] }), true],
  ])('is swept away where nobody waits for it: an errand that %s', (_, left, isLeft) => {
    expect(isLeftErrand(left, NOW, 3_600_000)).toBe(isLeft)
  })

  test('lays a home for five minutes at most; whoever waits for it says so first', () => {
    const laying = (seconds: number) =>
      pod(secondsAgo(600), { initContainerStatuses: [begun(secondsAgo(seconds))] })
    expect([299, 301, 359].map(seconds => laysTooLong(laying(seconds), NOW))).toEqual([false, true, true])
    expect([301, 359, 361].map(seconds => isLeftLaying(laying(seconds), NOW))).toEqual([false, false, true])
    expect(podOf({ isLaid: true }).initContainers).toBeUndefined()
  })
})

test('[B14] no pod has a token of the cluster, rights of the host or more of root’s than images need', () => {
  for (const pod of [podOf({}), errand()]) {
    expect(pod.automountServiceAccountToken).toBe(false)
    expect(pod.enableServiceLinks).toBe(false)
    expect(pod.securityContext?.seccompProfile).toEqual({ type: 'RuntimeDefault' })
    for (const part of ['hostNetwork', 'hostPID', 'hostIPC'] as const) expect(pod[part] ?? false).toBe(false)
    expect(pod.volumes?.some(({ hostPath }) => hostPath) ?? false).toBe(false)
    for (const { securityContext } of [...pod.containers, ...(pod.initContainers ?? [])]) {
      expect(securityContext).toMatchObject({ allowPrivilegeEscalation: false, privileged: false })
      expect(securityContext?.capabilities?.drop).toEqual(['ALL'])
      expect(securityContext?.capabilities?.add ?? []).not.toContain('SYS_ADMIN')
    }
  }
})

test('[B14] machines push out no other pods, unless the operator gives them a class that does', () => {
  expect(podOf({})).not.toHaveProperty('priorityClassName')
  expect(podOf({ priorityClass: 'rented' }).priorityClassName).toBe('rented')
})
