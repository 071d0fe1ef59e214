import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { smallMachine } from '../conformance/small-machine.ts'
import { eventually, expectCode, never } from '../conformance/tools.ts'
import type { Engine } from '../port/engine.ts'
import type { MachineSpec } from '../port/machines.ts'
import { offered } from '../port/part.ts'
import { makeGuest } from './guest-fixture.ts'
import { createQemuEngine } from './qemu-engine.ts'

// A real Linux with a second disk, booted again and again: what it finds, makes and keeps there.

const BYTES_PER_GB = 1024 ** 3
const folder = mkdtempSync(join(tmpdir(), 'berth-data-disk-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const found = await makeGuest(join(folder, 'guest'))
if (!found.ok) process.stdout.write(`SKIP the data disk of a virtual machine: ${found.why}\n`)

describe.skipIf(!found.ok)('the data disk of a virtual machine', () => {
  let engine: Engine
  const dataDir = join(folder, 'machines')
  const disk = 'i-guest-disk'
  const file = join(dataDir, 'volumes', disk, 'disk')
  const store = () => offered(engine.volumes)
  const specOf = (id: string, script: string, volumes?: MachineSpec['volumes']): MachineSpec => {
    if (!found.ok) throw new Error(found.why)
    const { kernel, initrd, disk: system, cmdline } = found.guest
    const qemu = { file: system, kernel: { file: kernel }, initrd: { file: initrd }, cmdline }
    const mount = { id: disk, path: '/data', read_only: false, size_gb: 3 }
    return smallMachine(
      id,
      { id: 'small-guest', parts: { qemu } },
      { memory_mb: 192, command: ['sh', '-c', script], volumes: volumes ?? [mount] },
    )
  }
  const logOf = (id: string) => engine.observation.logs(id, { lines_max: 200 })
  /** Boots it, and gives what it has written when its command is through. */
  const boot = async (spec: MachineSpec): Promise<string> => {
    await engine.machines.create(spec, never)
    await engine.machines.start(spec.id, never)
    await engine.machines.begin(spec.id, never)
    await eventually(async () =>
      expect(await engine.observation.status(spec.id)).toMatchObject({ command_end: { count: 1 } }),
    )
    return logOf(spec.id)
  }

  beforeAll(async () => {
    engine = await createQemuEngine({ dataDir, log: pino({ level: 'silent' }) })
  })
  afterAll(async () => {
    for (const { id } of await engine.machines.list()) await engine.machines.remove(id, never)
    await engine.shutdown()
  })

  test('[R3.5] is /dev/vdb of its size, has a file system from the first start on, and keeps what it holds', async () => {
    await store().make({ id: disk, size_gb: 3, fixed: true })
    const first = await boot(
      specOf(
        'guest',
        'echo "size $(cat /sys/block/vdb/size)"; grep /data /proc/mounts; echo kept > /data/file; sync',
      ),
    )
    expect(first).toContain(`size ${(3 * BYTES_PER_GB) / 512}`)
    expect(first).toMatch(/\/dev\/vdb \/data ext4 rw/)
    await engine.machines.stop('guest', never)
    expect(statSync(file).size).toBe(3 * BYTES_PER_GB)
    // It takes as much room as was written to it.
    expect(statSync(file).blocks * 512).toBeLessThan(200 * 1024 * 1024)

    // There already: it keeps what it holds. Another gateway, another name of the machine and another command.
    await store().make({ id: disk, size_gb: 3, fixed: true })
    const later = await boot(specOf('guest', 'echo "found $(cat /data/file)"; echo more >> /data/file; sync'))
    expect(later).toContain('found kept')
    await expectCode(store().delete(disk), 'failed')
    await engine.machines.stop('guest', never)
    await engine.machines.remove('guest', never)
    // The machine is gone, and its disk is not.
    const next = await boot(specOf('next', 'echo "found $(tr "\\n" " " < /data/file)"'))
    expect(next).toContain('found kept more')
    await engine.machines.stop('next', never)
    await engine.machines.remove('next', never)
    await store().delete(disk)
    expect(await store().list()).toEqual([])
  }, 180_000)

  test('that holds something else is left as it is, and that is said', async () => {
    const other = { id: 'i-other-disk', path: '/data', read_only: false }
    await store().make({ id: other.id, size_gb: 1 })
    await boot(
      specOf(
        'other',
        'umount /data; echo precious | dd of=/dev/vdb bs=1 seek=4096; dd if=/dev/zero of=/dev/vdb bs=1 seek=1024 count=1024; sync',
        [other],
      ),
    )
    await engine.machines.stop('other', never)
    const said = await boot(
      specOf('other', 'dd if=/dev/vdb bs=1 skip=4096 count=8; grep -c /data /proc/mounts', [other]),
    )
    expect(said).toContain('precious')
    expect(await engine.observation.status('other')).toMatchObject({
      guest_trouble: { code: 'guest_unprepared', detail: expect.stringContaining('was left as it is') },
    })
  }, 180_000)
})
