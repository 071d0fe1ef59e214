import ssh2 from 'ssh2'
import { expect, test } from 'vitest'
import { ed25519Pair } from '../../../platform/openssh-key.ts'
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
  expect(bytes.toString('latin1')).not.toContain('#cloud-config')
})

test('a guest’s SSH server is told its key and whom it lets in as root, in a file of settings beside the script', () => {
  const host_key = ed25519Pair(Buffer.alloc(32, 1))
  const { public: key, private: private_key } = ed25519Pair(Buffer.alloc(32, 2))
  const spec = smallMachine(
    'one',
    { id: 'image', parts: {} },
    { ssh_keys: ['ssh-rsa BBBB'], ssh_access: { key, private_key, host_key } },
  )
  const files = guestSeed(spec)
    .subarray(FILES_AT * SECTOR_BYTES)
    .toString('latin1')
  expect(files).not.toContain(JSON.stringify(private_key).slice(1, -1))
  const told = JSON.parse(files.slice(0, files.indexOf('\n')))
  expect(told).toMatchObject({ 'public-keys': ['ssh-rsa BBBB', key] })
  const [, settings = ''] = /\0#cloud-config\n(.*)\n/.exec(files) ?? []
  expect(JSON.parse(settings)).toEqual({
    disable_root: false,
    ssh_keys: { ed25519_private: host_key.private, ed25519_public: `${host_key.public}\n` },
  })
  // As everything that reads such files does.
  expect(ssh2.utils.parseKey(host_key.private)).toMatchObject({ type: 'ssh-ed25519' })
})
