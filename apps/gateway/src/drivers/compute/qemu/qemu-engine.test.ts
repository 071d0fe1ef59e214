import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeConformance } from '../conformance/conformance.ts'
import { openScreen } from '../conformance/screen.ts'
import { smallMachine } from '../conformance/small-machine.ts'
import { describeWhere, eventually, expectCode, never } from '../conformance/tools.ts'
import type { Engine } from '../port/engine.ts'
import type { MachineSpec } from '../port/machines.ts'
import { echoDisk } from './guest-fixture.ts'
import { findHypervisor } from './probe-qemu.ts'
import { createQemuEngine } from './qemu-engine.ts'

/** All that this guest has. */
const SERIAL = { session: 'serial' }
const log = pino({ level: 'silent' })
const folder = mkdtempSync(join(tmpdir(), 'berth-qemu-'))
const hypervisor = await findHypervisor()
const diskTool = hypervisor.ok ? hypervisor.hypervisor.disk_tool : ''
const echo = join(folder, 'echo.raw')
writeFileSync(echo, echoDisk())
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const echoImage = (part: object = {}) => ({ id: 'echo', parts: { qemu: { file: echo, ...part } } })
/** No guest of these tests has more to do than they wait for. */
const stopGraceMs = 100

describeWhere('virtual machines', hypervisor, () => {
  const dataDir = join(folder, `machines ${'x'.repeat(80)}`)
  const open = (part: Partial<Parameters<typeof createQemuEngine>[0]> = {}) =>
    createQemuEngine({ dataDir, log, stopGraceMs, ...part })

  describeConformance('qemu', {
    makeEngine: () => open(),
    image: echoImage(),
    missingImage: { id: 'docker-only', parts: { docker: 'debian:12' } },
    noPrograms: 'A sector that echoes runs no program.',
    noShells: 'A sector that echoes has no server of SSH.',
    shutdownStops: true,
  })

  describe('what a machine is made from', () => {
    let engine: Engine
    const made: string[] = []
    const specOf = (id: string, part: Partial<MachineSpec> = {}) => {
      made.push(id)
      return smallMachine(id, echoImage(), { memory_mb: 64, ...part })
    }
    beforeAll(async () => {
      engine = await open()
    })
    afterAll(async () => {
      for (const id of made) await engine.machines.remove(id, never)
    })

    test.each([
      ['that is not there', () => ({ file: join(folder, 'nothing') }), 'there is no file'],
      ['that is not what the catalogue says', () => ({ sha256: '0'.repeat(64) }), 'SHA-256'],
      ['that leads to another file', () => ({ file: diskOver('/etc/passwd') }), 'leads to another file'],
    ])('a disk %s makes no machine, and is said', async (_what, part, why) => {
      const image = echoImage(part())
      expect(engine.images.lackFor(image)).toBeNull()
      expect(await engine.images.has(image)).toBe(false)
      const pull = engine.images.pull(image, () => undefined, never)
      await expect(pull).rejects.toMatchObject({
        code: 'image_unavailable',
        message: expect.stringContaining(why),
      })
      await expectCode(engine.machines.create(specOf('unmade', { image }), never), 'image_unavailable')
      expect(await engine.observation.status('unmade')).toEqual({ state: 'absent' })
    })

    test('a disk of the right checksum does, and one that its operator replaces is another from then on', async () => {
      const file = join(folder, 'replaced.raw')
      writeFileSync(join(folder, 'replaced-1.raw'), echoDisk())
      symlinkSync('replaced-1.raw', file)
      const sha256 = createHash('sha256').update(echoDisk()).digest('hex')
      const image = echoImage({ file, sha256 })
      await engine.images.pull(image, () => undefined, never)
      await engine.machines.create(specOf('before', { image }), never)
      rmSync(file)
      writeFileSync(file, Buffer.alloc(1024))
      expect(await engine.images.has(image)).toBe(false)
      await expectCode(
        engine.images.pull(image, () => undefined, never),
        'image_unavailable',
      )
      await engine.machines.start('before', never)
      await engine.machines.begin('before', never)
      const screen = await openScreen(engine, 'before', SERIAL)
      await eventually(() => {
        screen.type('o')
        expect(screen.bytes().toString()).toContain('o')
      })
    })

    test('a disk is fetched from an address, goes on where it was cut off, and is what the catalogue says', async () => {
      const asked: string[] = []
      const whole = Buffer.concat([echoDisk(), Buffer.alloc(300_000, 7)])
      const server = createServer((request, response) => {
        const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0)
        asked.push(`${request.url} ${from}`)
        if (request.url === '/away') return void response.writeHead(302, { location: elsewhere }).end()
        if (request.url !== '/disk') return void response.writeHead(404).end()
        const rest = whole.subarray(from)
        response.writeHead(from > 0 ? 206 : 200, { 'content-length': rest.length })
        // The first two are given up: the one that only asks how large it is, and the one that is cut off.
        if (asked.length > 2) response.end(rest)
        else response.write(rest.subarray(0, 100_000), () => setTimeout(() => response.destroy(), 20))
      })
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const elsewhere = `${at.replace('127.0.0.1', 'localhost')}/disk`
      const imageAt = (path: string, sha256: string) => ({
        id: 'fetched',
        parts: { qemu: { url: `${at}${path}`, sha256 } },
      })
      const sha256 = createHash('sha256').update(whole).digest('hex')
      const image = imageAt('/disk', sha256)
      expect(await engine.images.has(image)).toBe(false)
      await expectCode(engine.machines.create(specOf('fetched', { image }), never), 'failed')
      const progress: number[] = []
      await engine.images.pull(image, ({ bytes_done }) => progress.push(bytes_done), never)
      expect(progress.at(-1)).toBe(whole.length)
      // Of what came before the cut the client may have thrown away the end, never the beginning.
      expect(asked).toEqual(['/disk 0', '/disk 0', expect.stringMatching(/^\/disk [1-9]\d*$/)])
      expect(await engine.images.has(image)).toBe(true)
      await engine.machines.create(specOf('fetched', { image }), never)
      const nothing = () => undefined
      await expectCode(
        engine.images.pull(imageAt('/none', 'a'.repeat(64)), nothing, never),
        'image_not_found',
      )
      await expectCode(engine.images.pull(imageAt('/disk', 'b'.repeat(64)), nothing, never), 'image_damaged')
      // Whoever has a disk at an address leads nobody into this computer's own networks.
      const led = engine.images.pull(imageAt('/away', 'c'.repeat(64)), nothing, never)
      await expectCode(led, 'image_unavailable')
      expect(asked.at(-1)).toBe('/away 0')
      server.close()
    })

    test('what a machine cannot have is refused before it is made', async () => {
      // QEMU would cut the name off, and the guest would not find it.
      const volumes = [{ id: 'v'.repeat(21), path: '/data', read_only: false }]
      const ssh_keys = ['ssh-ed25519 AAAA me\nruncmd: [reboot]']
      const ssh_access = {
        key: ssh_keys[0] ?? '',
        private_key: '',
        host_key: { private: '', public: 'ssh-ed25519 AAAA' },
      }
      for (const part of [
        { volumes },
        { gpu_uuids: ['GPU-1'] },
        { hostname: 'two words' },
        { ssh_keys },
        { ssh_access },
      ]) {
        await expectCode(engine.machines.create(specOf('unmade', part), never), 'unsupported')
      }
      const large = join(folder, 'large.qcow2')
      execFileSync(diskTool, ['create', '-q', '-f', 'qcow2', large, '2G'])
      const image = echoImage({ file: large })
      await expectCode(engine.machines.create(specOf('unmade', { image }), never), 'unsupported')
    })

    test('where the disk of all machines is nearly full none is started', async () => {
      const short = await open({ keptFreeMb: 1e9 })
      await short.machines.create(specOf('late'), never)
      await expectCode(short.machines.start('late', never), 'no_room')
      await short.shutdown({ machines_stay: true })
    })

    test('a disk grows with its machine, and never shrinks', async () => {
      await engine.machines.create(specOf('grows'), never)
      const sizes: number[] = []
      for (const disk_gb of [1, 3, 2]) {
        await engine.machines.create(specOf('grows', { disk_gb }), never)
        await engine.machines.start('grows', never)
        await engine.machines.stop('grows', never, { at_once: true })
        const disk = readFileSync(join(dataDir, 'machines/grows/home/disk.qcow2'))
        sizes.push(Number(disk.readBigUInt64BE(24)) / 1024 ** 3)
      }
      expect(sizes).toEqual([1, 3, 3])
    })
  })

  describe('its processes', () => {
    let engine: Engine
    const spec = smallMachine('walled', echoImage(), { memory_mb: 64 })
    beforeAll(async () => {
      engine = await open()
      await engine.machines.create(spec, never)
    })
    afterAll(() => engine.machines.remove(spec.id, never))

    test('QEMU runs without rights, with a filter of system calls, as nobody, in a network of its own', async () => {
      await engine.machines.start(spec.id, never)
      const pid = qemuOf(spec.id)
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      expect(status).toMatch(/^CapEff:\s+0+$/m)
      expect(status).toMatch(/^CapBnd:\s+0+$/m)
      expect(status).toMatch(/^NoNewPrivs:\s+1$/m)
      expect(status).toMatch(/^Seccomp:\s+2$/m)
      if (process.getuid?.() === 0) expect(status).not.toMatch(/^Uid:\s+0\s/m)
      expect(readlinkSync(`/proc/${pid}/ns/net`)).not.toBe(readlinkSync('/proc/self/ns/net'))
      expect(readdirSync(`/proc/${pid}/root/vm`).sort()).toEqual(['base', 'seed'])
      expect(() => readFileSync(`/proc/${pid}/root${import.meta.filename}`)).toThrowError()
    })

    test.each(['QEMU', 'its keeper'])(
      'a machine whose %s was killed has stopped, nothing is left of it, and it starts again',
      async what => {
        await engine.machines.start(spec.id, never)
        const heard: string[] = []
        const unwatch = engine.observation.watch(id => heard.push(id))
        const qemu = qemuOf(spec.id)
        process.kill(what === 'QEMU' ? qemu : parentOf(qemu), 'SIGKILL')
        await eventually(async () => {
          expect(heard).toContain(spec.id)
          expect((await engine.observation.status(spec.id)).state).toBe('stopped')
          expect(() => qemuOf(spec.id)).toThrowError('no QEMU')
        })
        unwatch()
        await engine.machines.start(spec.id, never)
        expect((await engine.observation.status(spec.id)).state).toBe('running')
      },
    )

    test('a guest that says nothing after it began is told of, until it does', async () => {
      // Of its own: another engine that sees a machine of this one end takes its limits away.
      const watching = await open({ dataDir: join(folder, 'silent'), guestSilentMs: 50 })
      const heard: string[] = []
      const unwatch = watching.observation.watch(id => heard.push(id))
      await watching.machines.create(spec, never)
      await watching.machines.start(spec.id, never)
      await watching.machines.begin(spec.id, never)
      await eventually(async () => {
        expect(heard).toContain(spec.id)
        const status = await watching.observation.status(spec.id)
        expect(status).toMatchObject({
          guest_trouble: { code: 'guest_silent', detail: 'nothing on its serial line for 0.05 s' },
        })
      })
      unwatch()
      const screen = await openScreen(watching, spec.id, SERIAL)
      await eventually(async () => {
        screen.type('o')
        expect(await watching.observation.status(spec.id)).not.toHaveProperty('guest_trouble')
      })
      await watching.machines.remove(spec.id, never)
    })

    test('a machine that waits runs nothing, while one that was let begin does', async () => {
      const other = { ...spec, id: 'begun' }
      await engine.machines.create(other, never)
      for (const { id } of [spec, other]) await engine.machines.start(id, never)
      await engine.machines.begin(other.id, never)
      const [waits, runs] = [
        await openScreen(engine, spec.id, SERIAL),
        await openScreen(engine, other.id, SERIAL),
      ]
      await eventually(() => {
        for (const screen of [waits, runs]) screen.type('o')
        expect(runs.bytes().toString()).toContain('oooo')
      })
      expect(waits.bytes().toString()).toBe('')
      await engine.machines.remove(other.id, never)
      await engine.machines.stop(spec.id, never, { at_once: true })
    })

    test('a guest that hears no power button has the plug pulled when its time is over', async () => {
      await engine.machines.start(spec.id, never)
      await engine.machines.begin(spec.id, never)
      await engine.machines.stop(spec.id, never)
      expect((await engine.observation.status(spec.id)).state).toBe('stopped')
      expect(() => qemuOf(spec.id)).toThrowError('no QEMU')
    })
  })
})

/** A disk that shows what lies in a file of this computer. */
function diskOver(file: string): string {
  const disk = join(folder, 'over.qcow2')
  execFileSync(diskTool, ['create', '-q', '-f', 'qcow2', '-F', 'raw', '-b', file, disk])
  return disk
}

/** The process of a machine's QEMU. */
function qemuOf(id: string): number {
  const pid = readdirSync('/proc').find(name => {
    if (!/^\d+$/.test(name)) return false
    try {
      const isQemu = readFileSync(`/proc/${name}/comm`, 'utf8').startsWith('qemu-system')
      return isQemu && readFileSync(`/proc/${name}/mountinfo`, 'utf8').includes(`/machines/${id}/home`)
    } catch {
      return false
    }
  })
  if (!pid) throw new Error('no QEMU')
  return Number(pid)
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}
