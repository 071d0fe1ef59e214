import type Docker from 'dockerode'
import { expect, test } from 'vitest'
import { boundedBytes, findDiskBound, type StorageTold } from './disk-bound.ts'
import { capabilitiesOf } from './docker-capabilities.ts'
import { hostRuntime } from './docker-runtime.ts'

const INFO = { ID: 'x', NCPU: 1, MemTotal: 1, MemoryLimit: true }

const NONE = { why: 'it is of no matter here' }
const FOUND = { disk: NONE, diskBound: NONE }

test.each([
  [['name=seccomp,profile=default', 'name=userns'], true],
  [['name=rootless'], true],
  [['name=seccomp,profile=default'], false],
  [undefined, false],
])('with the security options %j users are mapped: %j', (SecurityOptions, enforced) => {
  const { root_apart } = capabilitiesOf(
    { ...INFO, ...(SecurityOptions ? { SecurityOptions } : {}) },
    { ...FOUND, runtime: undefined },
  )
  expect(root_apart.enforced).toBe(enforced)
})

test.each([
  [undefined, 'shares the kernel'],
  ['nvidia', 'shares the kernel'],
  ['strong', 'gVisor'],
  ['io.containerd.runsc.v1', 'gVisor'],
  ['small-vm', 'virtual machine'],
  // A name says nothing of what it stands for.
  ['kata', 'shares the kernel'],
])('with the runtime %s it is said whose kernel machines have: %s', (runtime, says) => {
  const Runtimes = {
    runc: { path: 'runc' },
    nvidia: { path: '/usr/bin/nvidia-container-runtime' },
    strong: { path: '/usr/local/bin/runsc' },
    'io.containerd.runsc.v1': { runtimeType: 'io.containerd.runsc.v1' },
    'small-vm': { runtimeType: 'io.containerd.kata.v2' },
    kata: { path: '/usr/sbin/runc' },
  }
  const { isolation } = capabilitiesOf({ ...INFO, Runtimes, DefaultRuntime: 'runc' }, { ...FOUND, runtime })
  expect(isolation).toContain(says)
  expect(isolation.includes('shares the kernel')).toBe(says === 'shares the kernel')
})

test('where the daemon chooses another runtime by itself, that one’s kernel is told, and our own container has the host’s', () => {
  const told = { Runtimes: { runc: {}, strong: { path: '/usr/local/bin/runsc' } }, DefaultRuntime: 'strong' }
  expect(capabilitiesOf({ ...INFO, ...told }, { ...FOUND, runtime: undefined }).isolation).toContain('gVisor')
  expect(hostRuntime(told)).toBe('runc')
  expect(hostRuntime({ ...told, DefaultRuntime: 'runc' })).toBeUndefined()
})

test.each<[string, StorageTold]>([
  ['vfs', { Driver: 'vfs', DriverStatus: null }],
  ['overlay2 on extfs', { Driver: 'overlay2', DriverStatus: [['Backing Filesystem', 'extfs']] }],
  // The store of images of newer engines takes the option and does nothing with it.
  ['overlayfs', { Driver: 'overlayfs', DriverStatus: [['driver-type', 'io.containerd.snapshotter.v1']] }],
])('on %s no disk is bounded, and nothing is tried', async (name, told) => {
  const bound = await findDiskBound({} as Docker, told, { name: 'x', image: { repo: 'x', tag: '1' } })
  expect(bound).toMatchObject({ why: expect.stringContaining(name) })
})

test('where what a machine wrote before lies below its container, that counts to its disk', () => {
  const bound = { counts: 'own_writes', how: 'quotas' } as const
  const [gb, mb] = [1024 ** 3, 1024 ** 2]
  expect(boundedBytes(bound, 2, { image: gb, before: null })).toBe(2 * gb)
  expect(boundedBytes(bound, 2, { image: gb, before: 1.5 * gb })).toBe(1.5 * gb)
  // It was full, and must be able to start so that its customer can make room.
  expect(boundedBytes(bound, 2, { image: gb, before: 9 * gb })).toBe(64 * mb)
  expect(boundedBytes({ ...bound, counts: 'whole_root' }, 2, { image: gb, before: 1.5 * gb })).toBe(3 * gb)
  expect(boundedBytes({ why: 'none' }, 2, { image: gb, before: null })).toBeNull()
})
