import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Docker from 'dockerode'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openScreen } from '../conformance/screen.ts'
import { smallMachine } from '../conformance/small-machine.ts'
import { eventually, expectCode, never, text } from '../conformance/tools.ts'
import { type EngineDescription, engineDescriptionSchema } from '../engine-description.ts'
import { createEngineSource } from '../engine-source.ts'
import { EngineReplaced } from '../port/compute-error.ts'
import type { Engine } from '../port/engine.ts'
import type { EngineSource } from '../port/engine-source.ts'
import type { MachineSpec } from '../port/machines.ts'
import { removeCloud } from './docker-cloud-fixture.ts'
import { createDockerEngine } from './docker-engine.ts'
import { startDockerd, type TestDaemon } from './dockerd-fixture.ts'
import { probeDocker } from './probe-docker.ts'
import { importTestImage } from './test-image.ts'

const log = pino({ level: 'silent' })
const probe = await probeDocker()
const started = probe.ok ? await startDockerd({ btrfs: true }) : { why: probe.why }
const missing = 'why' in started ? started.why : null
if (missing !== null) process.stdout.write(`SKIP two Docker daemons: ${missing}\n`)

/** Sends back what it gets on port 8080. */
const ECHO =
  'socket(S,2,1,0);bind(S,pack("Sna4x8",2,8080,"\\0\\0\\0\\0"))or die;listen(S,9);' +
  'while(accept(C,S)){while(sysread(C,$b,65536)){syswrite(C,$b)}close C}'

// Goal: two daemons at once, one on this computer's socket and one by TCP with TLS. Method: both are real; the second
// is this test's own.
describe.skipIf(missing !== null)('two Docker daemons', () => {
  const cloudId = `test-${randomBytes(4).toString('hex')}`
  const folder = mkdtempSync(join(tmpdir(), 'berth-two-'))
  let daemon: TestDaemon
  let here: Engine
  let there: Engine
  let source: EngineSource
  let image = ''

  const open = (described: EngineDescription) =>
    createEngineSource(engineDescriptionSchema.parse(described), {
      cloudId,
      egress: null,
      sandboxDir: folder,
      baseDir: daemon.dir,
      log,
    })
  const remote = () => ({
    driver: 'docker' as const,
    url: daemon.url,
    ...daemon.files,
    publish_address: '127.0.0.1',
  })
  const specOf = (id: string): MachineSpec =>
    smallMachine(id, { id: 'test', parts: { docker: image } }, { ports: [8080] })

  beforeAll(async () => {
    daemon = started as TestDaemon
    const local = new Docker({ socketPath: probe.ok ? probe.socket_path : '' })
    image = await importTestImage(local)
    expect(await importTestImage(daemon.docker)).toBe(image)
    source = open(remote())
    here = await open({ driver: 'docker' }).open()
    there = await source.open()
  }, 60_000)
  afterAll(async () => {
    for (const engine of [here, there]) {
      for (const { id } of (await engine?.machines.list()) ?? []) await engine?.machines.remove(id, never)
      await engine?.shutdown()
    }
    const local = new Docker({ socketPath: probe.ok ? probe.socket_path : '' })
    for (const docker of [local, daemon.docker]) await removeCloud(docker, cloudId)
    await daemon.remove()
    rmSync(folder, { recursive: true })
  })

  test('are two engines, each with its own machines of the same cloud', async () => {
    expect(new Set([here.id, there.id]).size).toBe(2)
    expect(source.description).toContain(daemon.url)
    // Figures of this computer would be somebody else's: what the remote one does not tell is not known.
    expect(await there.size()).toMatchObject({ cpu_count: expect.any(Number), disk_gb: null, gpus: [] })
    for (const engine of [here, there]) {
      await engine.machines.create(specOf('same-id'), never)
      await engine.machines.start('same-id', never)
      expect(await engine.machines.list()).toEqual([{ id: 'same-id', state: 'running' }])
    }
    await text(here, 'same-id', 'echo here > ~/where')
    await text(there, 'same-id', 'echo there > ~/where')
    expect(await text(here, 'same-id', 'cat ~/where')).toBe('here\n')
    expect(await text(there, 'same-id', 'cat ~/where')).toBe('there\n')
    // The one is counted by this kernel, the other by what its engine tells.
    for (const engine of [here, there]) {
      const { memory_used_mb, network_received_bytes } = await engine.observation.sample('same-id')
      expect(memory_used_mb).toBeGreaterThan(0)
      expect(network_received_bytes).toBeGreaterThanOrEqual(0)
    }
    await here.machines.remove('same-id', never)
    expect(await there.machines.list()).toEqual([{ id: 'same-id', state: 'running' }])
  })

  test('the remote one’s ports are reached on the address that is named, and it says so', async () => {
    expect(here.capabilities.ports_exposed).toBeNull()
    expect(there.capabilities.ports_exposed).toContain('127.0.0.1')
    await expectCode(there.network.connect('same-id', 8080), 'port_closed')
    await expectCode(there.network.connect('same-id', 8081), 'port_closed')
    await text(there, 'same-id', `setsid perl -e '${ECHO}' > /dev/null 2>&1 &`)
    const stream = await eventually(() => there.network.connect('same-id', 8080))
    const heard = new Promise(resolve => stream.once('data', chunk => resolve(String(chunk))))
    stream.write('over there')
    expect(await heard).toBe('over there')
    stream.destroy()
    // A port that was never published, on the loopback alone.
    const inside = ECHO.replace('8080', '8091').replace('\\0\\0\\0\\0', '\\177\\0\\0\\1')
    await text(there, 'same-id', `setsid perl -e '${inside}' > /dev/null 2>&1 &`)
    const within = await eventually(() => there.network.connect('same-id', 8091))
    const heardWithin = new Promise(resolve => within.once('data', chunk => resolve(String(chunk))))
    within.write('in there')
    expect(await heardWithin).toBe('in there')
    within.destroy()
  })

  test('the remote one’s terminals pass bytes both ways', async () => {
    const screen = await openScreen(there, 'same-id')
    await screen.shows('# ')
    screen.type('echo $((6 * 7))\n')
    await screen.shows('42\r\n')
    await there.console.closeSession('same-id', 'web')
    expect((await screen.end).reason).toBe('closed')
  })

  test('one whose machines are to have a runtime that it does not know is not opened, and says what it knows', async () => {
    const opening = open({ ...remote(), runtime: 'runsc' }).open()
    await expect(opening).rejects.toMatchObject({ code: 'unsupported' })
    await expect(opening).rejects.toThrow(
      /no runtime “runsc”.* it knows berth-test-runtime,.* runc\..*daemon\.json/,
    )
  })

  test('a machine takes on the runtime of its engine when it starts next, with all that it stored', async () => {
    const { name, calls } = daemon.runtime
    const container = () => daemon.docker.getContainer(`berth-${cloudId}-same-id`).inspect()
    const { Id: before } = await container()
    const held = await open({ ...remote(), runtime: name }).open()
    expect(held.id).toBe(there.id)
    expect(held.capabilities.isolation).toContain(`“${name}”`)
    // One that runs goes on as it is.
    await held.machines.create(specOf('same-id'), never)
    expect((await container()).Id).toBe(before)
    expect((await calls()).filter(call => call.includes(before))).toEqual([])
    await held.machines.stop('same-id', never, { at_once: true })
    await held.machines.create(specOf('same-id'), never)
    await held.machines.start('same-id', never)
    const { Id, HostConfig } = await container()
    expect(HostConfig.Runtime).toBe(name)
    // The program itself was asked to make it.
    expect((await calls()).some(call => call.includes('create') && call.includes(Id))).toBe(true)
    expect(await text(held, 'same-id', 'cat ~/where')).toBe('there\n')
    await held.shutdown()
  })

  test('a machine stores no more than its disk where the engine’s storage has quotas, and more once it was given more', async context => {
    const limit = there.capabilities.disk_limit
    if (daemon.storage === 'vfs') {
      expect(limit).toMatchObject({ enforced: false, why: expect.stringContaining('vfs') })
      return context.skip('there is no Btrfs here, whose quotas Docker could use')
    }
    expect(limit).toMatchObject({ enforced: true, how: expect.stringContaining('btrfs') })
    const small = { ...specOf('small-disk'), disk_gb: 0.1 }
    await there.machines.create(small, never)
    await there.machines.start('small-disk', never)
    const fill = (name: string, mb: number) =>
      there.console.exec('small-disk', ['fallocate', '-l', `${mb}M`, `/root/${name}`])
    expect(await fill('hog', 150)).toMatchObject({
      exit_code: 1,
      stderr: expect.stringMatching(/quota|No space/),
    })
    await text(there, 'small-disk', 'rm -f ~/hog; echo kept > ~/file')
    expect((await fill('fits', 60)).exit_code).toBe(0)
    await there.machines.stop('small-disk', never, { at_once: true })
    await there.machines.create({ ...small, disk_gb: 0.3 }, never)
    await there.machines.start('small-disk', never)
    expect(await text(there, 'small-disk', 'cat ~/file; stat -c %s ~/fits')).toBe(`kept\n${60 * 1024 ** 2}\n`)
    expect((await fill('more', 150)).exit_code).toBe(0)
    expect((await fill('beyond', 150)).exit_code).toBe(1)
    await there.machines.remove('small-disk', never)
    const names = (await daemon.docker.listContainers({ all: true })).flatMap(({ Names }) => Names)
    expect(names.filter(name => name.includes('disk'))).toEqual([])
  })

  test('before the engine’s disk is full the machine that takes most of what it was given is stopped, and everybody hears why', async context => {
    if (daemon.storage === 'vfs') return context.skip('there is no Btrfs here, to be a disk of its own')
    // What the test before has removed may come free yet: far less than what is written here.
    const { bavail, bsize } = await statfs((await daemon.docker.info()).DockerRootDir)
    const watched = await createDockerEngine({
      place: { kind: 'unix', socket_path: daemon.socket_path },
      keptFreeMb: (bavail * bsize) / 1024 ** 2 - 400,
      ...{ cloudId, egress: null, log },
    })
    const start = async (id: string, disk_gb: number, mb: number) => {
      await watched.machines.create({ ...specOf(id), disk_gb }, never)
      await watched.machines.start(id, never)
      return watched.console.exec(id, ['fallocate', '-l', `${mb}M`, '/root/file'])
    }
    await start('modest-disk', 1, 10)
    await start('entitled-disk', 3, 150)
    expect((await watched.observation.status('entitled-disk')).state).toBe('running')
    void start('greedy-disk', 1, 900).catch(() => undefined)
    const why = { state: 'stopped', exit_code: null, cause: 'disk_full' }
    await eventually(async () => expect(await watched.observation.status('greedy-disk')).toEqual(why))
    expect(await there.observation.status('greedy-disk')).toEqual(why)
    for (const id of ['modest-disk', 'entitled-disk'])
      expect((await watched.observation.status(id)).state).toBe('running')
    await watched.shutdown()
    for (const id of ['modest-disk', 'entitled-disk', 'greedy-disk']) await there.machines.remove(id, never)
  })

  test('one that goes away is told, and found again with its machines when it is back', async () => {
    const heard: string[] = []
    const unwatch = there.observation.watch(id => heard.push(id))
    await daemon.stop()
    await expectCode(there.observation.status('same-id'), 'engine_unavailable')
    await expectCode(source.open(), 'engine_unavailable')
    await daemon.start()
    const again = await source.open()
    expect(again.id).toBe(there.id)
    expect((await again.observation.status('same-id')).state).toBe('stopped')
    await eventually(() => expect(heard).toContain('same-id'))
    unwatch()
    await again.machines.start('same-id', never)
    expect(await text(again, 'same-id', 'cat ~/where')).toBe('there\n')
  })

  test('it lets in nobody without a certificate, and is not taken for another', async () => {
    const unreadable: EngineDescription = { ...remote(), key_file: 'no-such.pem' }
    await expectCode(open(unreadable).open(), 'engine_unavailable')
    const selfMade = { cert_file: 'ca.pem', key_file: 'ca-key.pem', ca_file: 'server.pem' }
    await expectCode(open({ ...remote(), ...selfMade }).open(), 'engine_unavailable')
  })

  test('another one at its address is another engine: its machines are away, not gone', async () => {
    const before = there
    const unwatch = before.observation.watch(() => undefined)
    await daemon.replace()
    await expectCode(before.observation.status('same-id'), 'engine_unavailable')
    await daemon.start()
    // Nobody has asked for its size meanwhile: the first call of any kind finds out.
    await expectCode(before.observation.status('same-id'), 'engine_unavailable')
    await expectCode(before.machines.create(specOf('new-id'), never), 'engine_unavailable')
    await expect(before.size()).rejects.toThrow(EngineReplaced)
    unwatch()
    there = await source.open()
    expect(there.id).not.toBe(before.id)
    expect(await there.machines.list()).toEqual([])
    expect((await there.observation.status('same-id')).state).toBe('absent')
    expect(await importTestImage(daemon.docker)).toBe(image)
    await there.machines.create(specOf('new-id'), never)
    expect(await there.machines.list()).toMatchObject([{ id: 'new-id' }])
  })
})
