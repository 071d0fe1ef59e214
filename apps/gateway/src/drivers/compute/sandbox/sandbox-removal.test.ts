import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { triesOf } from '../../../../test/long-runs.ts'
import { smallMachine } from '../conformance/small-machine.ts'
import { describeWhere, eventually, expectCode, never } from '../conformance/tools.ts'
import type { Engine } from '../port/engine.ts'
import { offered } from '../port/part.ts'
import { probeSandbox } from './probe-sandbox.ts'
import { createSandboxEngine } from './sandbox-engine.ts'

const probe = await probeSandbox()
const FILES = triesOf('files')

/** What a customer may leave: folders nested deeper than a path may be long, and one that nobody may enter. */
const NEST = `
  fs.mkdirSync('closed'); fs.writeFileSync('closed/file', ''); fs.chmodSync('closed', 0)
  for (let depth = 0; depth < 100; depth++) { fs.mkdirSync('x'.repeat(200)); process.chdir('x'.repeat(200)) }
  fs.writeFileSync('deepest', '')`

describeWhere('removal from a sandbox host', probe, () => {
  describe('what a machine stored', () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-removal-'))
    const dirOf = (id: string) => join(folder, 'machines', id)
    let engine: Engine
    const warned: string[] = []
    beforeAll(async () => {
      const log = pino({ level: 'error' }, { write: line => warned.push(JSON.parse(line).msg) })
      engine = await createSandboxEngine({ dataDir: folder, log, homes: 'folders' })
    })
    afterAll(async () => {
      await engine.shutdown()
      rmSync(folder, { recursive: true, force: true })
    })

    async function start(id: string, volumes: { id: string; path: string; read_only: boolean }[] = []) {
      await engine.machines.create(
        smallMachine(id, { id: 'host', parts: { sandbox: 'host' } }, { volumes }),
        never,
      )
      await engine.machines.start(id, never)
    }

    /** Runs a program in a machine, in one of its folders. */
    async function node(id: string, cwd: string, program: string) {
      const argv = ['sh', '-c', 'cd "$1" && exec /.berth/node -e "$2"', 'sh', cwd, program]
      expect(await engine.console.exec(id, argv)).toMatchObject({ exit_code: 0, stderr: '' })
    }

    /** As the reconciler does: asked again until nothing is left. */
    async function remove(id: string) {
      await eventually(async () => {
        await engine.machines.remove(id, never).catch(() => undefined)
        expect(await engine.observation.status(id)).toEqual({ state: 'absent' })
      })
    }

    test('goes with it, however deep it lies and though its owner closed it', async () => {
      await start('deep')
      await node('deep', '/root', NEST)
      await remove('deep')
      expect(existsSync(dirOf('deep'))).toBe(false)
    })

    test('on a volume goes with the volume, however deep it lies', async () => {
      await offered(engine.volumes).make({ id: 'nested', size_gb: 1 })
      await start('holder', [{ id: 'nested', path: '/data', read_only: false }])
      await node('holder', '/data', NEST)
      await remove('holder')
      await eventually(() => offered(engine.volumes).delete('nested'))
      expect(await offered(engine.volumes).list()).toEqual([])
      expect(existsSync(join(folder, 'volumes/nested'))).toBe(false)
    })

    test('is not walked by the gateway itself', async () => {
      const make = `for (const folder of ['a', 'b']) {
        fs.mkdirSync(folder)
        for (let n = 0; n < ${FILES}; n++) fs.writeFileSync(folder + '/' + n, '')
      }`
      await start('many')
      await node('many', '/root', make)
      await engine.machines.stop('many', never)
      // Half of it by this process, threads and all, to know what that takes: all of it would take twice as much.
      const own = await workOf(() => rm(join(dirOf('many'), 'home/a'), { recursive: true }))
      expect(await workOf(() => remove('many'))).toBeLessThan(own)
      expect(existsSync(dirOf('many'))).toBe(false)
    })

    test('and cannot be removed keeps the machine from being gone, until it can', async ctx => {
      if (process.getuid?.() !== 0) return ctx.skip('only root can put there what a machine may not remove')
      await start('stuck')
      await engine.machines.stop('stuck', never)
      const foreign = join(dirOf('stuck'), 'home/foreign')
      mkdirSync(join(foreign, 'kept'), { recursive: true, mode: 0o700 })
      await expectCode(engine.machines.remove('stuck', never), 'failed')
      expect(await engine.observation.status('stuck')).toEqual({ state: 'created' })
      expect(await engine.machines.list()).toEqual([{ id: 'stuck', state: 'created' }])
      expect(warned).toContain('what a customer stored cannot be erased; see to it by hand')
      // Nobody gets a machine of that name with what another one left.
      await expectCode(start('stuck'), 'failed')

      const going = join(dirOf('stuck'), 'home.going')
      const [moved = ''] = readdirSync(going)
      const { uid } = statSync(going)
      chownSync(join(going, moved, 'foreign'), uid, uid)
      await engine.machines.remove('stuck', never)
      expect(existsSync(dirOf('stuck'))).toBe(false)
    })
  })
})

/** Processor time of this process, all of its threads, while something is done; in ms. */
async function workOf(run: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
