import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { smallMachine } from '../conformance/small-machine.ts'
import { describeWhere, expectCode, never, text } from '../conformance/tools.ts'
import type { Engine } from '../port/engine.ts'
import type { MachineSpec } from '../port/machines.ts'
import { offered } from '../port/part.ts'
import { probeSandbox } from './probe-sandbox.ts'
import { createSandboxEngine } from './sandbox-engine.ts'

const probe = await probeSandbox()

// What the conformance suite asks of every driver holds here, too; this is about what is the sandbox's own.
describeWhere('volumes of a sandbox host', probe, () => {
  describe('volumes of a sandbox host', () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-volumes-'))
    let engine: Engine
    beforeAll(async () => {
      engine = await createSandboxEngine({ dataDir: folder, log: pino({ level: 'silent' }) })
      await offered(engine.volumes).make({ id: 'shared', size_gb: 1 })
    })
    afterAll(async () => {
      await engine.shutdown()
      rmSync(folder, { recursive: true, force: true })
    })

    const specOf = (id: string, path = '/data'): MachineSpec =>
      smallMachine(
        id,
        { id: 'host', parts: { sandbox: 'host' } },
        { volumes: [{ id: 'shared', path, read_only: false }] },
      )

    test('one running machine at a time has a volume, and the next one owns all that is in it', async () => {
      const { machines } = engine
      for (const id of ['one', 'two']) await machines.create(specOf(id), never)
      await machines.start('one', never)
      await text(
        engine,
        'one',
        'mkdir -m 700 /data/closed; echo kept > /data/closed/file; ln -s /etc/passwd /data/link',
      )
      await expectCode(machines.start('two', never), 'failed')
      expect((await engine.observation.status('two')).state).not.toBe('running')
      await machines.stop('one', never)
      await machines.start('two', never)
      expect(await text(engine, 'two', 'cat /data/closed/file; stat -c %u /data/closed/file')).toBe(
        'kept\n0\n',
      )
      await text(engine, 'two', 'rm -r /data/closed')
      await expectCode(machines.start('one', never), 'failed')
      await expectCode(offered(engine.volumes).delete('shared'), 'failed')
    })

    test('a volume is not put into a home, where a link could lead it elsewhere', async () => {
      await expectCode(engine.machines.create(specOf('home', '/root/data'), never), 'unsupported')
      await expectCode(engine.machines.create(specOf('home', '/root'), never), 'unsupported')
      expect(await engine.observation.status('home')).toEqual({ state: 'absent' })
    })

    test('what a machine stores on a volume outlives the machine, and goes with the volume', async () => {
      await engine.machines.remove('one', never)
      await text(engine, 'two', 'echo last > /data/last')
      await engine.machines.remove('two', never)
      expect(existsSync(join(folder, 'volumes/shared/data/last'))).toBe(true)
      await offered(engine.volumes).delete('shared')
      expect(existsSync(join(folder, 'volumes/shared'))).toBe(false)
    })

    test('[B3] what a copy that was killed has left counts for nothing, is copied anew, and goes with the volume', async () => {
      const store = offered(engine.volumes)
      const { copy } = offered(store.copies)
      await store.make({ id: 'whole', size_gb: 1 })
      writeFileSync(join(folder, 'volumes/whole/data/file'), 'kept')
      for (const id of ['cut', 'left']) {
        mkdirSync(join(folder, `volumes/${id}/copy-own-0123456789abcdef/half`), { recursive: true })
        expect(await store.list()).toContain(id)
        await expectCode(store.measure(id), 'not_found')
        await expectCode(store.folder(id), 'not_found')
      }
      await copy({ from: 'whole', id: 'cut', bytes_max: 1_000_000 }, never)
      expect(readdirSync(join(folder, 'volumes/cut'))).toEqual(['data'])
      expect(readdirSync(join(folder, 'volumes/cut/data'))).toEqual(['file'])
      for (const id of ['cut', 'left', 'whole']) await store.delete(id)
      expect(readdirSync(join(folder, 'volumes'))).toEqual([])
    })
  })
})
