import { expect, test } from 'vitest'
import { capabilitiesOf } from './docker-capabilities.ts'

const INFO = { ID: 'x', NCPU: 1, MemTotal: 1, MemoryLimit: true }

const DISK = { why: 'it is of no matter here' }

test.each([
  [['name=seccomp,profile=default', 'name=userns'], true],
  [['name=rootless'], true],
  [['name=seccomp,profile=default'], false],
  [undefined, false],
])('with the security options %j users are mapped: %j', (SecurityOptions, enforced) => {
  const { root_apart } = capabilitiesOf({ ...INFO, ...(SecurityOptions ? { SecurityOptions } : {}) }, DISK)
  expect(root_apart.enforced).toBe(enforced)
})
