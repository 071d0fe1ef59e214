import { expect, test } from 'vitest'
import { capabilitiesOf } from './docker-capabilities.ts'
import { hostRuntime } from './docker-runtime.ts'

const INFO = { ID: 'x', NCPU: 1, MemTotal: 1, MemoryLimit: true }

const DISK = { why: 'it is of no matter here' }

test.each([
  [['name=seccomp,profile=default', 'name=userns'], true],
  [['name=rootless'], true],
  [['name=seccomp,profile=default'], false],
  [undefined, false],
])('with the security options %j users are mapped: %j', (SecurityOptions, enforced) => {
  const { root_apart } = capabilitiesOf(
    { ...INFO, ...(SecurityOptions ? { SecurityOptions } : {}) },
    DISK,
    undefined,
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
  const { isolation } = capabilitiesOf({ ...INFO, Runtimes, DefaultRuntime: 'runc' }, DISK, runtime)
  expect(isolation).toContain(says)
  expect(isolation.includes('shares the kernel')).toBe(says === 'shares the kernel')
})

test('where the daemon chooses another runtime by itself, that one’s kernel is told, and our own container has the host’s', () => {
  const told = { Runtimes: { runc: {}, strong: { path: '/usr/local/bin/runsc' } }, DefaultRuntime: 'strong' }
  expect(capabilitiesOf({ ...INFO, ...told }, DISK, undefined).isolation).toContain('gVisor')
  expect(hostRuntime(told)).toBe('runc')
  expect(hostRuntime({ ...told, DefaultRuntime: 'runc' })).toBeUndefined()
})
