import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ATTACKS, makeCalls } from '../conformance/kernel-calls.ts'
import { smallMachine } from '../conformance/small-machine.ts'
import { describeWhere, never, text } from '../conformance/tools.ts'
import type { Engine } from '../port/engine.ts'
import { findLauncher } from './probe-sandbox.ts'
import { createSandboxEngine } from './sandbox-engine.ts'
import { assembleFilter, REFUSED } from './syscall-filter.ts'

const SOCKET = [41, 198] as const
const IOCTL = [16, 29] as const
const PERSONALITY = [135, 92] as const
const NOTHING_NEW = [1_000, 1_000] as const
const GETPID_OF_X32 = 0x40000000 + 39
const TIOCSTI = 0x5412

describe('the filter of system calls', () => {
  test('says of each group why, and knows the same calls on both processors where both have them', () => {
    for (const { why, calls } of REFUSED) {
      expect(why).toMatch(/^[A-Z].+\.$/)
      for (const [x64, arm64] of Object.values(calls)) expect(x64 ?? arm64).not.toBeNull()
    }
    expect(assembleFilter('x64')?.length).toBeGreaterThan(0)
    expect(assembleFilter('arm64')?.length).toBeGreaterThan(0)
    expect(assembleFilter('riscv64')).toBeNull()
  })
})

for (const launcher of ['bwrap', 'unshare'] as const) {
  const found = await findLauncher(launcher)
  describeWhere(`filter by ${launcher}`, found.launcher ? { ok: true } : { ok: false, ...found }, () => {
    describe(`a machine by ${launcher}`, () => {
      const folder = mkdtempSync(join(tmpdir(), 'berth-filter-'))
      let engine: Engine
      beforeAll(async () => {
        engine = await createSandboxEngine({ dataDir: folder, log: pino({ level: 'silent' }), launcher })
        await engine.machines.create(smallMachine('m', { id: 'host', parts: { sandbox: 'host' } }), never)
        await engine.machines.start('m', never)
      })
      afterAll(async () => {
        await engine.machines.remove('m', never)
        await engine.shutdown()
        rmSync(folder, { recursive: true, force: true })
      })

      test('makes no call that attacks on the kernel begin with', async () => {
        const answers = await makeCalls(engine, 'm', {
          ...ATTACKS,
          'a child by clone3': [435, 435, 0, 0],
          'work past the kernel’s checks': [425, 425, 1, 0],
          'a call that nobody has looked at': NOTHING_NEW,
          'a typed character': [...IOCTL, 0, TIOCSTI, 0],
          'a typed character, with more bits': [...IOCTL, 0, 0x1_0000_0000 + TIOCSTI, 0],
          'a socket of the kernel’s ciphers': [...SOCKET, 38, 5, 0],
          'a socket to its computer': [...SOCKET, 40, 1, 0],
          'a socket to the firewall': [...SOCKET, 16, 3, 12],
          'a layout of memory that is known': [...PERSONALITY, 0x40000],
        })
        const refused = Object.fromEntries(Object.keys(ATTACKS).map(name => [name, 'EPERM']))
        expect(answers).toEqual({
          ...refused,
          'a raw socket to the network’s cards': 'EAFNOSUPPORT',
          'a child by clone3': 'ENOSYS',
          'work past the kernel’s checks': 'ENOSYS',
          'a call that nobody has looked at': 'ENOSYS',
          'a typed character': 'EPERM',
          'a typed character, with more bits': 'EPERM',
          'a socket of the kernel’s ciphers': 'EAFNOSUPPORT',
          'a socket to its computer': 'EAFNOSUPPORT',
          'a socket to the firewall': 'EAFNOSUPPORT',
          'a layout of memory that is known': 'EPERM',
        })
      })

      test('makes calls by no other rules than those of its processor', async context => {
        if (process.arch !== 'x64') return context.skip('only x86-64 has other rules that a kernel knows')
        const answers = await makeCalls(engine, 'm', { x32: [GETPID_OF_X32, 0] })
        expect(answers).toEqual({ x32: 'ENOSYS' })
      })

      test('makes the calls that programs need', async () => {
        const answers = await makeCalls(engine, 'm', {
          'a socket': [...SOCKET, 2, 1, 0],
          'a look at the network’s cards': [...SOCKET, 16, 3, 0],
          'which rules there are': [...PERSONALITY, 0xffffffff],
          'a namespace of its open files alone': [272, 97, 0x400],
        })
        expect(new Set(Object.values(answers))).toEqual(new Set(['done']))
      })

      test('is under it from its first process on, and makes no user namespaces without it either', async () => {
        const filtered = await text(engine, 'm', 'grep -h ^Seccomp: /proc/[0-9]*/status | sort -u')
        expect(filtered).toBe('Seccomp:\t2\n')
        const limit = '/proc/sys/user/max_user_namespaces'
        expect(await text(engine, 'm', `(echo 9 > ${limit}) 2>/dev/null; cat ${limit}`)).toBe('0\n')
      })
    })
  })
}
