import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { expectCode } from '../conformance/tools.ts'
import { ComputeError } from '../port/compute-error.ts'
import { type CountingGroups, groupMounts, groupsNamed } from './control-groups.ts'
import { openGroups } from './group-reader.ts'
import { createMachineSampler, type MachineSamplerDeps } from './machine-sampler.ts'
import { openProcess } from './process-folder.ts'

const MB = 1024 * 1024
const folder = mkdtempSync(join(tmpdir(), 'berth-samples-'))
afterAll(() => rmSync(folder, { recursive: true }))
let made = 0

/** A folder that looks as the kernel's own do, of both versions of control groups. */
function layout(
  version: 1 | 2,
  counts: { cpuMs: number; usedMb: number; cacheMb: number },
): CountingGroups & { dir: string } {
  const dir = join(folder, `group-${made++}`)
  mkdirSync(dir)
  const write = (name: string, text: string) => writeFileSync(join(dir, name), text)
  const cache = counts.cacheMb * MB
  if (version === 1) {
    write('cpuacct.usage', `${counts.cpuMs * 1e6}\n`)
    write('memory.usage_in_bytes', `${counts.usedMb * MB}\n`)
    write(
      'memory.stat',
      `cache 1\ninactive_file 77\nactive_file 5\ntotal_inactive_file ${cache}\ntotal_x 6\n`,
    )
  } else {
    write('cpu.stat', `usage_usec ${counts.cpuMs * 1000}\nuser_usec 7\nsystem_usec 8\n`)
    write('memory.current', `${counts.usedMb * MB}\n`)
    write(
      'memory.stat',
      `anon 1\nfile 2\nworkingset_inactive_file 9\ninactive_file ${cache}\nactive_file 5\n`,
    )
  }
  const group = { version, dir }
  return { dir, cpu: group, memory: group }
}

describe('what the kernel counts of a machine', () => {
  test.each([1, 2] as const)('is read from control groups of version %i', version => {
    const groups = layout(version, { cpuMs: 1234, usedMb: 300, cacheMb: 100 })
    const reader = openGroups(groups)
    expect(reader?.read()).toEqual({ cpuMs: 1234, memoryBytes: 200 * MB })
    writeFileSync(join(groups.dir, 'memory.stat'), 'none 1\n')
    // What another machine's file had behind where this one ends is not this one's.
    expect(reader?.read()).toEqual({ cpuMs: 1234, memoryBytes: 300 * MB })
    reader?.close()
    expect(reader?.read()).toBeNull()
  })

  test.each([
    [1, 'memory.oom_control', 'oom_kill_disable 0\nunder_oom 0\noom_kill 3\n'],
    [2, 'memory.events', 'low 0\nhigh 0\nmax 9\noom 4\noom_kill 3\noom_group_kill 0\n'],
  ] as const)(
    '[B9] tells how many programs were ended for want of memory, in groups of version %i',
    async (version, file, told) => {
      const groups = layout(version, { cpuMs: 1, usedMb: 1, cacheMb: 0 })
      const without = openGroups(groups)
      expect(without?.oomKills()).toBeNull()
      without?.close()
      writeFileSync(join(groups.dir, file), told)
      const reader = openGroups(groups)
      expect(reader?.oomKills()).toBe(3)
      writeFileSync(join(groups.dir, file), told.split('oom_kill ')[0] ?? '')
      expect(reader?.oomKills()).toBeNull()
      reader?.close()
      writeFileSync(join(groups.dir, file), told)
      const { oomKills, sample, calls, close } = sampler({ groups })
      await sample('m')
      expect(await oomKills('m')).toBe(3)
      close()
      expect(await oomKills('m')).toBe(3)
      expect(calls).not.toContain('oom m')
      expect(openedIn(groups.dir)).toEqual([])
      const asked = sampler({ groups: null })
      expect(await asked.oomKills('m')).toBe(7)
      asked.close()
    },
  )

  test('is not read where a group lacks one of its files, and nothing is left open', () => {
    const groups = layout(2, { cpuMs: 1, usedMb: 1, cacheMb: 0 })
    rmSync(join(groups.dir, 'memory.stat'))
    expect(openGroups(groups)).toBeNull()
    expect(openedIn(groups.dir)).toEqual([])
  })

  const mounts = groupMounts()
  const { v1, v2 } = mounts
  const memory = v1.get('memory') ?? v2
  const isRoot = process.getuid?.() === 0
  test.skipIf(!isRoot || memory === null)(
    'is of one group for good: of one that is made anew under its name, nothing is told',
    ctx => {
      const name = `berth-test-samples-${process.pid}`
      const groups = groupsNamed(`1:cpuacct,memory:/${name}\n0::/${name}`, name, mounts)
      if (!groups?.cpu || !groups.memory) return ctx.skip('no control groups count both here')
      const dirs = [...new Set([groups.cpu.dir, groups.memory.dir])]
      try {
        for (const dir of dirs) mkdirSync(dir)
        const reader = openGroups(groups)
        if (!reader) return ctx.skip('the memory controller is not handed down here')
        expect(reader.read()).toEqual({ cpuMs: 0, memoryBytes: 0 })
        for (const dir of dirs) rmdirSync(dir)
        for (const dir of dirs) mkdirSync(dir)
        expect(reader.read()).toBeNull()
        reader.close()
      } finally {
        for (const dir of dirs) rmdirSync(dir)
      }
    },
  )

  test('is looked for in the groups that have its name, never in others', () => {
    const v1Mounts = {
      v1: new Map([
        ['cpuacct', '/c/cpu'],
        ['memory', '/c/memory'],
      ]),
      v2: null,
    }
    const v2Mounts = { v1: new Map<string, string>(), v2: '/c' }
    expect(groupsNamed('4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/\n', 'abc', v1Mounts)).toEqual({
      cpu: { version: 1, dir: '/c/cpu/docker/abc' },
      memory: { version: 1, dir: '/c/memory/docker/abc' },
    })
    const group = { version: 2, dir: '/c/system.slice/docker-abc.scope' }
    expect(groupsNamed('0::/system.slice/docker-abc.scope/init\n', 'abc', v2Mounts)).toEqual({
      cpu: group,
      memory: group,
    })
    for (const membership of ['', '0::/docker/abd\n', '0::/../docker/abc\n', '4:memory:/docker/abc\n'])
      expect(groupsNamed(membership, 'abc', v2Mounts)).toBeNull()
    expect(groupsNamed('4:memory:/docker/abc\n', 'abc', v1Mounts)).toBeNull()
  })
})

/** A sampler whose machines have groups of the test's own, with what was asked of whom. */
function sampler(part: Partial<MachineSamplerDeps> & { groups?: CountingGroups | null } = {}) {
  const calls: string[] = []
  const clock = { ms: 0 }
  const groups = part.groups === undefined ? layout(2, { cpuMs: 5, usedMb: 8, cacheMb: 0 }) : part.groups
  const made = createMachineSampler({
    nowMs: () => clock.ms,
    hasGpusHere: false,
    find: async id => {
      calls.push(`find ${id}`)
      return { groups, process: openProcess(process.pid), memory_limit_mb: 64, gpu_uuids: [] }
    },
    ask: async id => {
      calls.push(`ask ${id}`)
      return { cpuMs: 1, memoryBytes: MB, network: null }
    },
    diskBytes: async id => {
      calls.push(`disk ${id}`)
      return 3 * MB
    },
    askOomKills: async id => {
      calls.push(`oom ${id}`)
      return 7
    },
    ...part,
  })
  return { ...made, calls, clock }
}

describe('a machine that is measured again and again', () => {
  test('is found once, and its engine is asked for nothing but its disk, once a minute', async () => {
    const groups = layout(1, { cpuMs: 1000, usedMb: 8, cacheMb: 2 })
    const measured = sampler({ groups })
    const first = await measured.sample('m')
    expect(first).toMatchObject({
      cpu_percent: null,
      memory_used_mb: 6,
      memory_limit_mb: 64,
      disk_used_mb: 3,
    })
    writeFileSync(join(groups.dir, 'cpuacct.usage'), `${1500 * 1e6}\n`)
    for (let second = 1; second <= 60; second++) {
      measured.clock.ms += 1000
      const { cpu_percent } = await measured.sample('m')
      expect(cpu_percent).toBe(second === 1 ? 50 : 0)
    }
    expect(measured.calls).toEqual(['find m', 'disk m'])
    measured.clock.ms += 1000
    await measured.sample('m')
    expect(measured.calls).toEqual(['find m', 'disk m', 'disk m'])
    measured.close()
  })

  test('is closed when it ended, was forgotten, or the engine is closed', async () => {
    const groups = layout(2, { cpuMs: 1, usedMb: 1, cacheMb: 0 })
    const measured = sampler({ groups })
    for (const end of [measured.letGo, measured.forget, measured.close]) {
      await measured.sample('m')
      expect(openedIn(groups.dir)).toHaveLength(3)
      end('m')
      expect(openedIn(groups.dir)).toEqual([])
    }
    // What is measured after the end is not kept.
    await measured.sample('m')
    expect(openedIn(groups.dir)).toEqual([])
  })

  test('is kept open for as long as somebody looks at it, and its last figures for an hour', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const groups = layout(2, { cpuMs: 1000, usedMb: 1, cacheMb: 0 })
      const measured = sampler({ groups })
      const pass = (ms: number) => {
        measured.clock.ms += ms
        vi.runOnlyPendingTimers()
      }
      await measured.sample('m')
      pass(60_000)
      expect(openedIn(groups.dir)).toHaveLength(3)
      pass(30_000)
      expect(openedIn(groups.dir)).toEqual([])
      // What a slow round compares with is still known.
      writeFileSync(join(groups.dir, 'cpu.stat'), `usage_usec ${(1000 + 45_000) * 1000}\n`)
      expect(await measured.sample('m')).toMatchObject({ cpu_percent: 50 })
      pass(2 * 60 * 60_000)
      expect(vi.getTimerCount()).toBe(0)
      expect(await measured.sample('m')).toMatchObject({ cpu_percent: null })
      measured.close()
    } finally {
      vi.useRealTimers()
    }
  })

  test('is kept open only where there is room for it, and by one of two that measure it at once', async () => {
    const groups = layout(2, { cpuMs: 1, usedMb: 1, cacheMb: 0 })
    const measured = sampler({ groups, keptOpenMax: 1 })
    await Promise.all([measured.sample('one'), measured.sample('one'), measured.sample('two')])
    expect(openedIn(groups.dir)).toHaveLength(3)
    expect((await measured.sample('two')).memory_used_mb).toBe(1)
    measured.letGo('one')
    await measured.sample('two')
    expect(openedIn(groups.dir)).toHaveLength(3)
    measured.close()
  })

  test('is asked of its engine where nothing can be read here: one question at a time, of sixteen machines at most', async () => {
    const underWay = new Set<string>()
    let most = 0
    const release = Promise.withResolvers<void>()
    const measured = sampler({
      groups: null,
      ask: async id => {
        expect(underWay.has(id)).toBe(false)
        underWay.add(id)
        most = Math.max(most, underWay.size)
        await release.promise
        underWay.delete(id)
        return { cpuMs: 1, memoryBytes: 2 * MB, network: { received: 3, sent: 4 } }
      },
    })
    const ids = Array.from({ length: 20 }, (_, at) => `m${at}`)
    const samples = Promise.all([...ids, ...ids].map(measured.sample))
    await expect.poll(() => underWay.size).toBe(16)
    release.resolve()
    for (const one of await samples)
      expect(one).toMatchObject({ memory_used_mb: 2, network_received_bytes: 3, network_sent_bytes: 4 })
    expect(most).toBe(16)
    measured.close()
  })

  test('has a figure of everything else while nobody tells what it stores, and an error when it is gone', async () => {
    const refuse = () => Promise.reject(new ComputeError('engine_unavailable', 'hangs'))
    const measured = sampler({ diskBytes: refuse })
    expect(await measured.sample('m')).toMatchObject({ memory_used_mb: 8, disk_used_mb: null })
    measured.close()
    const gone = sampler({ find: () => Promise.reject(new ComputeError('not_found', 'no machine m')) })
    await expectCode(gone.sample('m'), 'not_found')
  })
})

test('the network of a process is told without its loopback, and no longer than it lives', () => {
  const here = openProcess(process.pid)
  const totals = here?.network() ?? null
  if (totals) expect(totals.received).toBeGreaterThanOrEqual(0)
  expect(here?.groups()).toContain(':')
  here?.close()
  expect(here?.groups()).toBeNull()
  expect(openProcess(2 ** 30)).toBeNull()
})

/** What this process has open below a folder. */
function openedIn(dir: string): string[] {
  return readdirSync('/proc/self/fd').flatMap(descriptor => {
    try {
      const path = readlinkSync(`/proc/self/fd/${descriptor}`)
      return path.startsWith(`${dir}/`) ? [path] : []
    } catch {
      return []
    }
  })
}
