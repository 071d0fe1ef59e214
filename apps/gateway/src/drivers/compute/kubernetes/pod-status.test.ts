import type { V1Pod } from '@kubernetes/client-node'
import { expect, test } from 'vitest'
import { statusOf, troubleOf } from './pod-status.ts'

const NEW = { hasRun: false, isToRun: false }
const RUNS = { hasRun: true, isToRun: true }
const began = new Date('2026-11-27T12:00:00Z')

function pod(status: V1Pod['status'], metadata: V1Pod['metadata'] = {}): V1Pod {
  return { metadata, ...(status && { status }) }
}

function withState(state: object, more: object = {}): V1Pod {
  const one = { name: 'machine', image: '', imageID: '', ready: false, restartCount: 0, state }
  return pod({ containerStatuses: [one], ...more })
}

const ended = (exitCode: number, more: object = {}) => ({
  terminated: { exitCode, finishedAt: began, ...more },
})

test.each([
  ['nothing was started', null, NEW, { state: 'created' }],
  [
    'it was stopped in good order',
    null,
    { hasRun: true, isToRun: false },
    { state: 'stopped', exit_code: null },
  ],
  ['it is being made', pod({ phase: 'Pending' }), NEW, { state: 'created' }],
  ['it runs', withState({ running: { startedAt: began } }), RUNS, { state: 'running', started_at: began }],
  ['its pod is gone', null, RUNS, { state: 'stopped', exit_code: null, cause: 'node_lost' }],
  [
    'its processes were ended',
    withState(ended(137), { phase: 'Failed' }),
    RUNS,
    { state: 'stopped', exit_code: 137 },
  ],
  [
    'its command ended, and it with it',
    withState(ended(5, { message: '5 1 -\n' }), { phase: 'Failed' }),
    RUNS,
    { state: 'stopped', exit_code: 5, cause: 'command_ended' },
  ],
  [
    'its memory was used up',
    withState(ended(137, { reason: 'OOMKilled' }), { phase: 'Failed' }),
    RUNS,
    { state: 'stopped', exit_code: 137, cause: 'out_of_memory' },
  ],
  [
    'its node needed what it took',
    pod({ phase: 'Failed', reason: 'Evicted' }),
    RUNS,
    { state: 'stopped', exit_code: null, cause: 'evicted' },
  ],
  [
    'its node was shut down',
    pod({ phase: 'Failed', reason: 'NodeShutdown' }),
    RUNS,
    { state: 'stopped', exit_code: null, cause: 'node_lost' },
  ],
])('what a machine is where %s', (_name, found, disk, status) => {
  expect(statusOf(found, disk)).toEqual(status)
})

test('while its node gives no sign of life nobody knows whether a machine runs', () => {
  // As the control plane and the kubelet of Kubernetes 1.36 leave them.
  const conditions = [
    { type: 'Ready', status: 'False' },
    { type: 'ContainersReady', status: 'True' },
  ]
  const found = withState({ running: { startedAt: began } }, { conditions })
  expect(() => statusOf(found, RUNS)).toThrow(expect.objectContaining({ code: 'engine_unavailable' }))
})

test.each([
  ['ErrImagePull', 'failed to resolve reference "x": not found', false, 'image_not_found'],
  [
    'ErrImagePull',
    'pull access denied, repository does not exist or may require authorization',
    false,
    'image_needs_login',
  ],
  ['ErrImagePull', 'unexpected status: 401 Unauthorized', true, 'image_login_refused'],
  ['ErrImagePull', 'toomanyrequests: You have reached your pull rate limit', false, 'registry_busy'],
  ['ImagePullBackOff', 'dial tcp: lookup registry.test: no such host', false, 'registry_unreachable'],
  ['ErrImagePull', 'no match for platform in manifest', false, 'image_unfit'],
  ['ErrImagePull', 'failed to extract layer: no space left on device', false, 'no_room'],
  [
    'ErrImageNeverPull',
    'Container image "x" is not present with pull policy of Never',
    false,
    'image_unavailable',
  ],
  ['CreateContainerError', 'whatever', false, 'failed'],
])('%s: %s (with a login: %s) is %s', (reason, message, hadLogin, code) => {
  expect(troubleOf(withState({ waiting: { reason, message } }), hadLogin)).toMatchObject({ code })
})

test('a pod that no node takes says why, and one that is only being made says nothing', () => {
  const message = '0/3 nodes are available: 3 Insufficient nvidia.com/gpu.'
  const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }]
  expect(troubleOf(pod({ conditions }), false)).toMatchObject({ code: 'unschedulable' })
  expect(troubleOf(withState({ waiting: { reason: 'ContainerCreating' } }), false)).toBeNull()
})
