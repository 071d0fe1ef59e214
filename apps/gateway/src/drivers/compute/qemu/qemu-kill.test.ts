import { randomInt } from 'node:crypto'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRandom } from '../../../../test/faults/random-fixture.ts'
import { triesOf } from '../../../../test/long-runs.ts'
import { openScreen } from '../conformance/screen.ts'
import { smallMachine } from '../conformance/small-machine.ts'
import { describeWhere, eventually, expectCode, never } from '../conformance/tools.ts'
import type { Engine } from '../port/engine.ts'
import type { ImageRecipe } from '../port/images.ts'
import { offered } from '../port/part.ts'
import { processesOf } from '../sandbox/gateway-process-fixture.ts'
import { openOrderedProcess } from '../sandbox/orders-fixture.ts'
import { sha256Of } from './base-store.ts'
import type { VmOrder } from './gateway-fixture.ts'
import { echoDisk } from './guest-fixture.ts'
import { findHypervisor } from './probe-qemu.ts'
import { createQemuEngine } from './qemu-engine.ts'

const KILLS = triesOf('vms')
/** A kill, and all that must be right after it, take some seconds on a busy computer. */
const KILLS_TIMEOUT_MS = 120_000 + KILLS * 30_000
const DAY_MS = 86_400_000
const MB = 1024 * 1024
const log = pino({ level: 'silent' })
const folder = mkdtempSync(join(tmpdir(), 'berth-qemu-kill-'))
const dataDir = join(folder, 'machines')
const bases = join(dataDir, 'bases')
/** With what each takes at most, in ms: a kill comes at any moment of it. */
const ACTIONS = [
  ['pull', 500],
  ['create', 150],
  ['start', 700],
  ['begin', 50],
  ['stop', 300],
  ['build', 400],
  ['remove', 300],
] as const
const ITS_IMAGE = { machine_id: 'victim', image_id: 'of-victim' }
const probe = await findHypervisor()

describeWhere('virtual machines of a gateway that is killed', probe, () => {
  let server: Server
  let image: ImageRecipe
  const filled = join(folder, 'filled.raw')
  const byFile = { id: 'filled', parts: { qemu: { file: filled } } }
  const open = () => createQemuEngine({ dataDir, log, stopGraceMs: 100, outbound: { opened: [] } })

  beforeAll(async () => {
    writeFileSync(filled, Buffer.concat([echoDisk(), Buffer.alloc(8 * MB, 1)]))
    const disk = readFileSync(filled)
    server = createServer((request, response) => {
      const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0)
      response.writeHead(from > 0 ? 206 : 200, { 'content-length': disk.length - from })
      let at = from
      // A little at a time, so that there is a while to be killed in.
      const more = () => {
        if (response.destroyed || at >= disk.length) return void response.end()
        response.write(disk.subarray(at, at + MB), () => setTimeout(more, 20))
        at += MB
      }
      more()
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/disk`
    image = { id: 'fetched', parts: { qemu: { url, sha256: await sha256Of(filled) } } }
  })
  afterAll(() => {
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** A gateway that does everything up to an action, and is killed at a moment of that. */
  async function killAt(last: number, momentMs: number, of: ImageRecipe): Promise<void> {
    const script = join(import.meta.dirname, 'gateway-fixture.ts')
    const settings = JSON.stringify({ stopGraceMs: 100, outbound: { opened: [] } })
    const gateway = await openOrderedProcess<VmOrder>({
      namespace: null,
      uid: process.getuid?.() ?? 0,
      program: [process.execPath, script, dataDir, settings],
    })
    for (const [at, [action]] of ACTIONS.entries()) {
      const done = gateway.ask(orderOf(action, of))
      if (at < last) await done
      if (at < last) continue
      const answered = done.catch(error => expect(String(error)).toContain('the process ended'))
      // No moment is waited for: any is as good.
      await new Promise(resolve => setTimeout(resolve, momentMs))
      await gateway.kill()
      return void (await answered)
    }
  }

  const orderOf = (action: (typeof ACTIONS)[number][0], of: ImageRecipe): VmOrder => {
    if (action === 'pull') return { do: 'pull', image: of }
    if (action === 'create') return { do: 'create', spec: smallMachine('victim', of, { memory_mb: 64 }) }
    if (action === 'build') return { do: 'build', ...ITS_IMAGE }
    return { do: action, id: 'victim' }
  }

  /** The next gateway brings the machine to run, whatever became of it, and takes it away. */
  async function expectToConverge(engine: Engine, of: ImageRecipe): Promise<void> {
    await engine.images.pull(of, () => undefined, never)
    const spec = smallMachine('victim', of, { memory_mb: 64 })
    await eventually(() =>
      engine.machines.create(spec, never).catch(async error => {
        // Half removed: as the reconciler does, it is removed in whole first.
        await engine.machines.remove('victim', never)
        throw error
      }),
    )
    await engine.machines.start('victim', never)
    await engine.machines.begin('victim', never)
    const screen = await openScreen(engine, 'victim', { session: 'serial' })
    await eventually(() => {
      screen.type('o')
      expect(screen.bytes().toString()).toContain('o')
    })
    const { uid } = JSON.parse(readFileSync(join(dataDir, 'machines/victim/machine.json'), 'utf8'))
    await engine.machines.stop('victim', never)
    const own = offered(engine.images.own)
    await own.build(ITS_IMAGE, () => undefined, never)
    await own.delete(ITS_IMAGE.image_id)
    await engine.machines.remove('victim', never)
    expect(await engine.machines.list()).toEqual([])
    await eventually(() => expect(readdirSync(join(dataDir, 'own'), { recursive: true })).toEqual(['making']))
    expect(readdirSync(join(dataDir, 'machines'))).toEqual([])
    await eventually(() => expect([...processesOf(dataDir), ...processesOfUser(uid)]).toEqual([]))
    await eventually(() => expect(filesIn(bases).filter(name => !/^[0-9a-f]{64}$/.test(name))).toEqual([]))
  }

  const seed = Number(process.env.BERTH_FAULT_SEED ?? randomInt(2 ** 31))
  test(
    `[B1] kill -9 at ${KILLS} moments of any action leaves a machine that the next gateway finds, and nothing else (seed ${seed})`,
    async () => {
      const random = createRandom(seed)
      for (let kills = 0; kills < KILLS; kills++) {
        const last = (kills + seed) % ACTIONS.length
        const of = random.next() < 0.5 ? image : byFile
        await killAt(last, random.below(ACTIONS[last]?.[1] ?? 0), of)
        const engine = await open()
        await expectToConverge(engine, of)
        await engine.shutdown()
      }
    },
    KILLS_TIMEOUT_MS,
  )

  test('a disk that no machine lies over goes when it was not used for a month, and what a kill has begun at once', async () => {
    const engine = await open()
    await engine.images.pull(image, () => undefined, never)
    await engine.machines.create(smallMachine('kept', byFile, { memory_mb: 64 }), never)
    const names = filesIn(bases)
    const { vm } = JSON.parse(readFileSync(join(dataDir, 'machines/kept/machine.json'), 'utf8'))
    await engine.shutdown()
    const [unused = ''] = names.filter(name => name !== vm.base.name)
    const begun = join(bases, `${unused}.0a1b2c3d`)
    writeFileSync(begun, 'half')
    const tidied = async (days: number) => {
      const then = (Date.now() - days * DAY_MS) / 1_000
      for (const name of names) utimesSync(join(bases, 'used', name), then, then)
      const later = await open()
      await eventually(() => expect(existsSync(begun)).toBe(false))
      return later
    }
    await (await tidied(29)).shutdown()
    expect(filesIn(bases)).toEqual(names)
    writeFileSync(begun, 'half')
    const later = await tidied(31)
    await eventually(() => expect(filesIn(bases)).toEqual([vm.base.name]))
    expect(filesIn(join(bases, 'used'))).toEqual([vm.base.name])
    // It is not here any more, and is had again.
    expect(await later.images.has(image)).toBe(false)
    await expectCode(later.machines.create(smallMachine('other', image), never), 'failed')
    await later.machines.start('kept', never)
    await later.machines.remove('kept', never)
    await later.shutdown()
  })
})

/** Names in a folder that are no folders and no lock. */
function filesIn(dir: string): string[] {
  const found = readdirSync(dir, { withFileTypes: true })
  return found.flatMap(entry => (entry.isFile() && entry.name !== 'lock' ? [entry.name] : [])).sort()
}

/** What runs as a machine's user, be it in whatever namespace; nothing where machines have none of their own. */
function processesOfUser(uid: number | null): string[] {
  if (uid === null) return []
  return readdirSync('/proc').flatMap(pid => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      return Number(/^Uid:\t(\d+)/m.exec(status)?.[1]) === uid ? [status.split('\n')[0] ?? ''] : []
    } catch {
      return []
    }
  })
}
