import { expect, test } from 'vitest'
import { smallMachine } from '../conformance/small-machine.ts'
import { guestSeed } from './guest-seed.ts'

const SECTOR_BYTES = 2_048
const FILES_AT = 21

test('a guest is told who it is and whose keys it lets in, whatever stands in them, in signs that YAML takes', () => {
  const ssh_keys = [
    'ssh-ed25519 AAAA zoé@"laptop": {x} # &a *b !c %d @e `f` \u007f\u0085\u2028\ufeff',
    'ssh-rsa BBBB',
  ]
  const spec = smallMachine('one', { id: 'image', parts: {} }, { hostname: 'first', ssh_keys })
  const bytes = guestSeed(spec).subarray(FILES_AT * SECTOR_BYTES)
  const told = bytes.toString('latin1', 0, bytes.indexOf('\n'))
  expect(told).toMatch(/^[ -~]+$/)
  expect(JSON.parse(told)).toEqual({
    'instance-id': 'berth-one',
    'local-hostname': 'first',
    'public-keys': ssh_keys,
  })
})
