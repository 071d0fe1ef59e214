import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openScreen } from '../conformance/screen.ts'
import { smallMachine } from '../conformance/small-machine.ts'
import { describeWhere, eventually, expectCode, never } from '../conformance/tools.ts'
import type { Engine } from '../port/engine.ts'
import type { ImageRecipe } from '../port/images.ts'
import { offered } from '../port/part.ts'
import { processesOf } from '../sandbox/gateway-process-fixture.ts'
import { echoDisk } from './guest-fixture.ts'
import { findHypervisor } from './probe-qemu.ts'
import { createQemuEngine } from './qemu-engine.ts'

const folder = mkdtempSync(join(tmpdir(), 'berth-own-images-'))
const dataDir = join(folder, 'machines')
const disk = join(folder, 'echo.raw')
const nothing = () => undefined
const probe = await findHypervisor()

describeWhere('images of virtual machines', probe, () => {
  let engine: Engine
  const open = (part: { keptFreeMb?: number } = {}) =>
    createQemuEngine({ dataDir, log: pino({ level: 'silent' }), stopGraceMs: 100, ...part })
  const specOf = (id: string, image: ImageRecipe = { id: 'echo', parts: { qemu: { file: disk } } }) =>
    smallMachine(id, image, { memory_mb: 64 })
  const own = (of = engine) => offered(of.images.own)
  const begin = async (id: string) => {
    await engine.machines.start(id, never)
    await engine.machines.begin(id, never)
    const screen = await openScreen(engine, id, { session: 'serial' })
    await eventually(() => {
      screen.type('o')
      expect(screen.bytes().toString()).toContain('o')
    })
  }
  /** All but what machines were made from. */
  const left = () => [
    ...readdirSync(join(dataDir, 'bases')).filter(name => name.startsWith('own-')),
    ...readdirSync(join(dataDir, 'own')).filter(name => name.endsWith('.json')),
    ...readdirSync(join(dataDir, 'own/making')),
  ]

  beforeAll(async () => {
    writeFileSync(disk, echoDisk())
    engine = await open()
    await engine.machines.create(specOf('first'), never)
  })
  afterAll(async () => {
    for (const { id } of await engine.machines.list()) await engine.machines.remove(id, never)
    await engine.shutdown()
    rmSync(folder, { recursive: true, force: true })
  })

  test('a machine that runs makes none; of one that is stopped another is made that boots', async () => {
    await begin('first')
    const what = { machine_id: 'first', image_id: 'snapshot' }
    await expectCode(own().build(what, nothing, never), 'unsupported')
    await engine.machines.stop('first', never)
    const image = await own().build(what, nothing, never)
    await engine.machines.remove('first', never)
    // It lies over nothing: what the first was made from is not needed.
    const [name = ''] = left()
    expect(readFileSync(join(dataDir, 'bases', name)).readBigUInt64BE(8)).toBe(0n)
    await engine.machines.create(specOf('second', image), never)
    await begin('second')
    await engine.machines.remove('second', never)
    await own().delete('snapshot')
    expect(left()).toEqual([])
    await expectCode(engine.machines.create(specOf('third', image), never), 'image_unavailable')
  })

  test('one that is given up, or finds no room, leaves nothing; nor does one whose gateway was killed', async () => {
    await engine.machines.create(specOf('source'), never)
    const what = { machine_id: 'source', image_id: 'unmade' }
    const givenUp = new AbortController()
    await expectCode(
      own().build(what, () => givenUp.abort(), givenUp.signal),
      'failed',
    )
    expect(left()).toEqual([])
    const full = await open({ keptFreeMb: 1e9 })
    await expectCode(own(full).build(what, nothing, never), 'no_room')
    await full.shutdown({ machines_stay: true })
    expect(left()).toEqual([])
    expect(processesOf(join(dataDir, 'own'))).toEqual([])
    mkdirSync(join(dataDir, 'own/making/killed/home'), { recursive: true })
    writeFileSync(join(dataDir, 'own/making/killed/home/flat.qcow2'), 'half')
    writeFileSync(join(dataDir, 'bases/own-killed-0a1b2c3d'), 'whole, but not written down')
    const later = await open()
    await eventually(() => expect(left()).toEqual([]))
    await later.shutdown({ machines_stay: true })
    // A try after those that failed.
    await own().build(what, nothing, never)
    expect((await own().list()).map(({ id }) => id)).toEqual(['unmade'])
  })
})
