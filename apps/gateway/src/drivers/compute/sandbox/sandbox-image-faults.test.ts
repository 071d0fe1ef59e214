import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  utimesSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { triesOf } from '../../../../test/long-runs.ts'
import { smallMachine } from '../conformance/small-machine.ts'
import { describeWhere, eventually, expectCode, never, text } from '../conformance/tools.ts'
import { imageFiles } from '../oci/image-files.ts'
import { digestOf, makeImage, packOdd, startRegistry } from '../oci/registry-fixture.ts'
import type { Engine } from '../port/engine.ts'
import { processesOf, startGateway } from './gateway-process-fixture.ts'
import { findRootOverlay } from './overlay-root.ts'
import { probeSandbox } from './probe-sandbox.ts'
import { programsLayer } from './programs-layer-fixture.ts'
import { createSandboxEngine } from './sandbox-engine.ts'

const MB = 1024 * 1024
const DAY_MS = 86_400_000
/** Of a disk's files, what machines and images leave free. */
const KEPT_FILES_SHARE = 0.02
const NOBODY = 65_534
/** A kill, and all that must be right after it, take some seconds on a busy computer. */
const KILLS_TIMEOUT_MS = 90_000 + triesOf('unpacks') * 20_000
const log = pino({ level: 'silent' })
const probe = await probeSandbox()
const folder = mkdtempSync(join(tmpdir(), 'berth-image-faults-'))

describeWhere('images of sandboxes when something goes wrong', probe, () => {
  let registry: Awaited<ReturnType<typeof startRegistry>>
  let layers: Parameters<typeof makeImage>[0]
  let image: ReturnType<typeof makeImage>
  const engines: Engine[] = []
  let dirs = 0
  let dataDir = ''

  beforeAll(async () => {
    const layer = await programsLayer(folder)
    layers = [
      { bytes: zstdCompressSync(layer), packing: '+zstd' },
      { bytes: packOdd([{ name: 'etc/hosts', type: '2', target: '/etc/shadow' }]), packing: '' },
    ]
    image = makeImage(layers)
    registry = await startRegistry(image)
  })
  afterAll(() => {
    registry.close()
    rmSync(folder, { recursive: true, force: true })
  })
  afterEach(async () => {
    registry.does(() => false)
    for (const engine of engines.splice(0)) {
      for (const { id } of await engine.machines.list()) await engine.machines.remove(id, never)
      await engine.shutdown()
    }
  })

  const newDir = () => {
    dataDir = join(folder, `data-${dirs++}`)
    return dataDir
  }
  async function open(part: Partial<Parameters<typeof createSandboxEngine>[0]> = {}): Promise<Engine> {
    const engine = await createSandboxEngine({ dataDir, log, ...part })
    engines.push(engine)
    return engine
  }
  const recipe = () => ({ id: 'made', parts: { sandbox: { image: registry.reference } } })
  const pull = (engine: Engine) => engine.images.pull(recipe(), () => undefined, never)
  async function run(engine: Engine, id: string): Promise<void> {
    await engine.machines.create(smallMachine(id, recipe()), never)
    await engine.machines.start(id, never)
  }
  const treesIn = (dir: string) => readdirSync(imageFiles(join(dir, 'oci')).trees)
  /** The first file that a layer lays. */
  const isBeingUnpacked = () =>
    existsSync(join(dataDir, 'oci/trees')) &&
    treesIn(dataDir).some(key => existsSync(join(dataDir, 'oci/trees', key, 'root/usr/bin')))

  /** Gives the data folder a disk of its own, in memory. Returns what runs a line of shell with the folder as `$1`. */
  function mountDisk(options: string): (script: string) => void {
    const shell = (script: string) => execFileSync('sh', ['-c', script, 'sh', dataDir])
    shell(`mount -t tmpfs -o ${options} tmpfs "$1"`)
    return shell
  }

  /**
   * Kills what a pull runs, once it is under way. Returns whether the pull failed of it: on a computer that does much else
   * it may be done before that is seen.
   */
  async function isKilled(engine: Engine, script: string, isUnderWay: () => boolean): Promise<boolean> {
    const pulling = pull(engine)
    const isDone = pulling.then(
      () => true,
      () => false,
    )
    await eventually(() => expect(isUnderWay()).toBe(true))
    for (const pid of pidsOf(script)) killIfThere(pid)
    if (await isDone) return false
    await expectCode(pulling, 'failed')
    return true
  }

  /** What a pull and a machine of it come to, whatever was before. */
  async function expectToConverge(): Promise<void> {
    const engine = await open()
    await pull(engine)
    expect(await engine.images.has(recipe())).toBe(true)
    await run(engine, 'after')
    expect(await text(engine, 'after', 'cat /etc/shadow; hostname')).toBe('kept\nafter\n')
    await engine.machines.remove('after', never)
    const partials = join(dataDir, 'oci/partial')
    expect(readdirSync(partials).flatMap(name => readdirSync(join(partials, name)))).toEqual([])
    expect(treesIn(dataDir)).toHaveLength(1)
    for (const key of treesIn(dataDir)) {
      expect(readdirSync(join(dataDir, 'oci/trees', key)).sort()).toEqual(['root', 'tree.json'])
    }
    await engine.shutdown()
    await eventually(() => expect(processesOf(dataDir)).toEqual([]))
  }

  test('machines of one image share its files, none can change them, and each keeps what it changed', async context => {
    newDir()
    const engine = await open()
    const found = await findRootOverlay(dataDir)
    if (!found.overlay) return context.skip(found.why)
    await pull(engine)
    await Promise.all(['one', 'two'].map(id => run(engine, id)))
    const change = 'echo mine >> /etc/shadow; rm /etc/passwd; mkdir /usr/new; mv /home /away; cat /etc/shadow'
    expect(await text(engine, 'one', change)).toBe('kept\nmine\n')
    expect(await text(engine, 'two', 'cat /etc/shadow; ls -d /home/me /etc/passwd; cat /etc/hostname')).toBe(
      'kept\n/etc/passwd\n/home/me\ntwo\n',
    )
    await engine.machines.stop('one', never)
    await engine.machines.start('one', never)
    expect(
      await text(engine, 'one', 'cat /etc/shadow; ls -d /away/me /usr/new; ls /etc/passwd || true'),
    ).toBe('kept\nmine\n/away/me\n/usr/new\n')
    const [key = ''] = treesIn(dataDir)
    const tree = join(dataDir, 'oci/trees', key, 'root')
    expect(readFileSync(join(tree, 'etc/shadow'), 'utf8')).toBe('kept\n')
    // Nobody's that runs a machine, and closed to everybody but the gateway.
    expect(lstatSync(join(dataDir, 'oci/trees', key)).mode & 0o777).toBe(0o700)
    const owners = ['one', 'two'].map(
      id => JSON.parse(readFileSync(join(dataDir, 'machines', id, 'machine.json'), 'utf8')).uid,
    )
    if (process.getuid?.() === 0) expect(owners).not.toContain(lstatSync(tree).uid)
    // Machines are told by the gateway alone how much they store, and that is without their image.
    const { disk_used_mb } = await engine.observation.sample('two')
    if (engine.capabilities.disk_limit.enforced) expect(disk_used_mb).toBeLessThan(20)
  })

  test('where roots cannot be laid over one another, each machine gets a copy, with names of its own', async () => {
    newDir()
    const engine = await open({ roots: 'copies' })
    await pull(engine)
    await run(engine, 'copied')
    const told = await text(
      engine,
      'copied',
      'cat /etc/shadow /etc/hostname /etc/hosts; id -u; echo x > /new',
    )
    expect(told).toBe('kept\ncopied\n127.0.0.1 localhost\n::1 localhost\n127.0.1.1 copied\n0\n')
    expect(JSON.parse(readFileSync(join(dataDir, 'machines/copied/machine.json'), 'utf8')).image.tree).toBe(
      undefined,
    )
  })

  test('a gateway that is killed while it fetches or unpacks leaves nothing that the next one does not mend', async () => {
    newDir()
    const first = image.layers[0] ?? ''
    registry.does((request, response) => {
      if (!request.url?.endsWith(first)) return false
      const blob = image.blobs.get(first) ?? Buffer.alloc(0)
      response.writeHead(200, { 'content-length': blob.length }).write(blob.subarray(0, blob.length / 2))
      return true
    })
    const fetching = startGateway(dataDir, 'victim', { args: ['', registry.reference] })
    const partials = join(dataDir, 'oci/partial')
    await eventually(() => expect(readdirSync(partials).length).toBe(1))
    await fetching.kill()
    registry.does(() => false)

    const unpacking = startGateway(dataDir, 'victim', { args: ['', registry.reference] })
    await eventually(() => expect(isBeingUnpacked()).toBe(true))
    await unpacking.kill()
    await expectToConverge()
  })

  test('a process that fetches or unpacks may be killed, and the next try goes on', async () => {
    newDir()
    let engine = await open()
    registry.does(({ url }) => url?.endsWith(image.layers[0] ?? '') ?? false)
    expect(await isKilled(engine, 'pull-process.ts', () => registry.asked.length > 0)).toBe(true)
    registry.does(() => false)
    while (!(await isKilled(engine, 'unpack.mjs', isBeingUnpacked))) {
      newDir()
      engine = await open()
    }
    expect(treesIn(dataDir)).toEqual([])
    await expectToConverge()
  })

  test(
    'a gateway may be killed at any moment between an image and its machine',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 0, max: 1_500 }), async afterMs => {
          newDir()
          const gateway = startGateway(dataDir, 'victim', { args: ['', registry.reference] })
          await new Promise(resolve => setTimeout(resolve, afterMs))
          await gateway.kill()
          const engine = await open()
          await engine.machines.remove('victim', never)
          await engine.shutdown()
          await expectToConverge()
        }),
        { numRuns: triesOf('unpacks') },
      )
    },
    KILLS_TIMEOUT_MS,
  )

  test('an image that the disk has no room for is not unpacked, and nothing of it stays', async context => {
    if (process.getuid?.() !== 0) return context.skip('only root may mount a disk of its own')
    newDir()
    mkdirSync(dataDir)
    // Others come and go on the disk that they share.
    const shell = mountDisk('size=4g')
    try {
      const { bavail, bsize } = statfsSync(dataDir)
      const engine = await open({ keptFreeMb: Math.floor((bavail * bsize) / MB) - 8 })
      await expectCode(pull(engine), 'no_room')
      expect(treesIn(dataDir)).toEqual([])
      expect(await engine.images.has(recipe())).toBe(false)
      await engine.shutdown()
      await expectToConverge()
    } finally {
      shell('umount --lazy "$1"')
    }
  })

  test('what an image takes of a disk is what the disk says, and what is kept of it stays free', async context => {
    if (process.getuid?.() !== 0) return context.skip('only root may mount a disk of its own')
    newDir()
    mkdirSync(dataDir)
    const shell = mountDisk('size=256m,nr_inodes=10000')
    try {
      const engine = await open({ keptFreeMb: 1 })
      const { files, ffree } = statfsSync(dataDir)
      const folders = ffree - Math.floor((files * KEPT_FILES_SHARE) / 2)
      const deep = 45
      const entries = Array.from({ length: folders / deep }, (_, at) => ({
        name: `${at}/${'a/'.repeat(deep - 1)}`,
      }))
      const many = await startRegistry(makeImage([{ bytes: packOdd(entries), packing: '' }]))
      const deepImage = { id: 'deep', parts: { sandbox: { image: many.reference } } }
      const refused = engine.images.pull(deepImage, () => undefined, never)
      await expectCode(refused.finally(many.close), 'no_room')
      expect(treesIn(dataDir)).toEqual([])
      await engine.shutdown()
    } finally {
      shell('umount --lazy "$1"')
    }
  })

  test('an image that nobody used for long is removed, but not from under a machine', async context => {
    newDir()
    const engine = await open()
    await pull(engine)
    await run(engine, 'long')
    await engine.machines.stop('long', never)
    const files = imageFiles(join(dataDir, 'oci'))
    const old = new Date(Date.now() - 31 * DAY_MS)
    const layer = files.blob(image.layers[0] ?? '')
    const record = files.record(registry.reference)
    const age = () => {
      for (const path of [record, layer, files.blob(digestOf(image.manifest))]) utimesSync(path, old, old)
    }
    age()
    const later = await open()
    if (treesIn(dataDir).length === 0) return context.skip('machines have copies here')
    // An image of the machine would have these layers.
    await eventually(() => expect(lstatSync(record).mtimeMs).toBeGreaterThan(old.getTime()))
    expect(existsSync(layer)).toBe(true)
    await later.machines.start('long', never)
    expect(await text(later, 'long', 'cat /etc/shadow')).toBe('kept\n')
    await later.machines.remove('long', never)
    age()
    const last = await open()
    await eventually(() => expect(existsSync(layer)).toBe(false))
    expect(await last.images.has(recipe())).toBe(false)
    await eventually(() => expect(treesIn(dataDir)).toEqual([]))
  })

  test('an image that the catalogue drops goes a day after the last machine of it, and one that it offers stays', async () => {
    newDir()
    const start = Date.now()
    let days = 0
    const clock = { now: () => new Date(start + days * DAY_MS) }
    const other = await startRegistry(makeImage([{ bytes: packOdd([{ name: 'other' }]), packing: '' }]))
    const offered = [{ id: 'other', parts: { sandbox: { image: other.reference } } }]
    const engine = await open({ clock, offered: [...offered, recipe()] })
    await pull(engine)
    await engine.images.pull(offered[0] ?? recipe(), () => undefined, never).finally(other.close)
    await engine.machines.create(smallMachine('last', recipe()), never)
    /** What is here of both after a gateway with that catalogue has begun, so many days later. */
    const after = async (later: number, catalogue: typeof offered) => {
      days += later
      const next = await open({ clock, offered: catalogue })
      await next.shutdown()
      const { record } = imageFiles(join(dataDir, 'oci'))
      return [registry.reference, other.reference].map(reference => existsSync(record(reference)))
    }
    expect(await after(40, [...offered, recipe()])).toEqual([true, true])
    expect(await after(40, offered)).toEqual([true, true])
    await engine.machines.remove('last', never)
    expect(await after(0.9, offered)).toEqual([true, true])
    expect(await after(0.2, offered)).toEqual([false, true])
    expect(treesIn(dataDir)).toHaveLength(1)
  })

  test.for(['bwrap', 'unshare'])('an ordinary user can run images by %s', async (launcher, context) => {
    if (process.getuid?.() !== 0) return context.skip('the whole suite runs as an ordinary user here')
    newDir()
    mkdirSync(dataDir)
    chmodSync(folder, 0o755)
    chownSync(dataDir, NOBODY, NOBODY)
    const ofMe = await startRegistry(makeImage(layers, { User: 'me' }))
    const gateway = startGateway(dataDir, 'plain', {
      args: ['--round', ofMe.reference, launcher],
      uid: NOBODY,
    })
    const lines = await gateway.end().finally(ofMe.close)
    if (lines.length === 0) return context.skip('the project’s folder cannot be read by other users')
    expect(lines).toEqual([
      ...['made', 'pulled', 'created', 'running', expect.stringMatching(/^limits /), 'user 1000', '1000', ''],
      ...['shell 4', 'memory true', 'state stopped', 'left []'],
    ])
  })
})

/** Processes of this test's own that run a script of that name. */
function pidsOf(script: string): number[] {
  return readdirSync('/proc').flatMap(pid => {
    if (!/^\d+$/.test(pid)) return []
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      return words.some(word => word.endsWith(`/${script}`)) && isBelow(Number(pid)) ? [Number(pid)] : []
    } catch {
      return []
    }
  })
}

function isBelow(pid: number): boolean {
  for (let at = pid; at > 1; ) {
    if (at === process.pid) return true
    at = Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${at}/status`, 'utf8'))?.[1] ?? 0)
  }
  return false
}

/** With the first of a process and those around it the others may go by themselves. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
