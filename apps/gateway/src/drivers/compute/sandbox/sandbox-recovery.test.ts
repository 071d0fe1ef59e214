import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, describe, expect, test } from 'vitest'
import { createRandom } from '../../../../test/faults/random-fixture.ts'
import { triesOf } from '../../../../test/long-runs.ts'
import { smallMachine } from '../conformance/small-machine.ts'
import { commands, describeWhere, eventually, never, text } from '../conformance/tools.ts'
import type { Engine } from '../port/engine.ts'
import type { MachineSpec } from '../port/machines.ts'
import { processesOf, startGateway } from './gateway-process-fixture.ts'
import { identifyProcess, isAlive, killProcess } from './host-process.ts'
import { probeSandbox } from './probe-sandbox.ts'
import { createSandboxEngine } from './sandbox-engine.ts'

const STARTS = triesOf('starts')
/** About as long as both take. */
const CREATE_AND_START_MS = 56
const engines: Engine[] = []
const folder = mkdtempSync(join(tmpdir(), 'berth-recovery-'))
const log = pino({ level: 'silent' })
const probe = await probeSandbox()

describeWhere('sandbox recovery', probe, () => {
  afterAll(async () => {
    for (const engine of engines) await engine.shutdown()
    rmSync(folder, { recursive: true, force: true })
  })

  describe('what is left of a killed gateway', () => {
    test('[B1] a machine outlives kill -9 of the gateway; the next one finds it, uses it and ends it', async () => {
      const dataDir = newDir()
      const gateway = startGateway(dataDir, 'survivor')
      await gateway.says('running')
      await gateway.kill()

      const engine = await newEngine(dataDir)
      expect((await engine.observation.status('survivor')).state).toBe('running')
      expect(await text(engine, 'survivor', 'hostname')).toBe('survivor\n')
      const heard: string[] = []
      const unwatch = engine.observation.watch(id => heard.push(id))
      await engine.console.exec('survivor', ['sh', '-c', 'kill -9 -1']).catch(() => undefined)
      await eventually(async () => expect(heard).toContain('survivor'))
      unwatch()
      await engine.machines.remove('survivor', never)
      expect(processesOf(dataDir)).toEqual([])
    })

    const seed = Number(process.env.BERTH_FAULT_SEED ?? randomInt(2 ** 31))
    test(
      `[B1] kill -9 at ${STARTS} moments of a start leaves no process that the next gateway cannot find (seed ${seed})`,
      async () => {
        const random = createRandom(seed)
        for (let round = 0; round < STARTS; round++) {
          const dataDir = newDir()
          const gateway = startGateway(dataDir, 'victim')
          await gateway.says(round % 2 === 0 ? 'created' : 'made')
          // No moment is waited for: any is as good.
          await new Promise(resolve => setTimeout(resolve, random.below(CREATE_AND_START_MS)))
          await gateway.kill()

          const engine = await newEngine(dataDir)
          const { state } = await engine.observation.status('victim')
          expect(['absent', 'created', 'running']).toContain(state)
          if (state !== 'absent') {
            await engine.machines.start('victim', never)
            expect(await text(engine, 'victim', 'echo up')).toBe('up\n')
          }
          for (const { id } of await engine.machines.list()) await engine.machines.remove(id, never)
          expect(await engine.machines.list()).toEqual([])
          await eventually(() => expect(processesOf(dataDir)).toEqual([]))
        }
      },
      60_000 + STARTS * 15_000,
    )

    test('a machine that ended with its command while no gateway was there says so to the next one', async () => {
      const dataDir = newDir()
      const engine = await newEngine(dataDir)
      const command = ['sh', '-c', 'while [ ! -e ~/go ]; do sleep 0.05; done; exit 7']
      await engine.machines.create({ ...specOf('batch'), command, on_command_end: 'stop' }, never)
      await engine.machines.start('batch', never)
      await engine.machines.begin('batch', never)
      const statePath = join(dataDir, 'machines/batch/state.json')
      const state = readFileSync(statePath)
      await text(engine, 'batch', 'touch ~/go')
      const ended = { state: 'stopped', exit_code: 7, cause: 'command_ended' }
      await eventually(async () => expect(await engine.observation.status('batch')).toEqual(ended))
      // As a gateway left it that was killed before.
      await eventually(() => expect(readFileSync(statePath, 'utf8')).toContain('stopped'))
      writeFileSync(statePath, state)
      const later = await newEngine(dataDir)
      expect(await later.observation.status('batch')).toEqual(ended)
      const report = join(dataDir, 'machines/batch/run/command-end')
      writeFileSync(report, '9'.repeat(10_000_000))
      expect(await later.observation.status('batch')).toEqual({ state: 'stopped', exit_code: null })
      rmSync(report)
      const elsewhere = join(dataDir, 'elsewhere')
      writeFileSync(elsewhere, '7 1 -')
      symlinkSync(elsewhere, report)
      expect(await later.observation.status('batch')).toEqual({ state: 'stopped', exit_code: null })
      await later.machines.remove('batch', never)
    })

    test('a process that got a dead machine’s id is never killed', async () => {
      const dataDir = newDir()
      const engine = await newEngine(dataDir)
      await engine.machines.create(specOf('stale'), never)
      const stranger = spawn('sleep', ['600'])
      try {
        const real = identifyProcess(stranger.pid ?? 0)
        expect(real).not.toBeNull()
        if (!real) return
        for (const first_process of [
          { ...real, start_ticks: real.start_ticks - 1 },
          { ...real, boot_id: 'another boot' },
        ]) {
          const state = { phase: 'running', first_process, started_at: new Date(0).toISOString() }
          writeFileSync(join(dataDir, 'machines/stale/state.json'), JSON.stringify(state))
          expect((await engine.observation.status('stale')).state).toBe('stopped')
          await engine.machines.stop('stale', never)
          expect(await killProcess(first_process, 100)).toBe(true)
          expect(isAlive(real)).toBe(true)
        }
        writeFileSync(join(dataDir, 'machines/stale/run/info.json'), `{"child-pid": ${stranger.pid}}`)
        rmSync(join(dataDir, 'machines/stale/state.json'))
        await engine.machines.remove('stale', never)
        expect(isAlive(real)).toBe(true)
      } finally {
        stranger.kill('SIGKILL')
      }
    })

    test('gateways with folders of their own never see each other’s machines', async () => {
      const [one, two] = await Promise.all([newEngine(newDir()), newEngine(newDir())])
      await start(one, 'same')
      expect(await two.machines.list()).toEqual([])
      expect(await two.observation.status('same')).toEqual({ state: 'absent' })
      await start(two, 'same')
      expect(await two.shutdown()).toEqual(['same'])
      expect((await one.observation.status('same')).state).toBe('running')
      await one.machines.remove('same', never)
    })

    test('a folder that a crash left without a record is listed, and can be removed', async () => {
      const dataDir = newDir()
      mkdirSync(join(dataDir, 'machines/half/home'), { recursive: true })
      const engine = await newEngine(dataDir)
      expect(await engine.observation.status('half')).toEqual({ state: 'absent' })
      expect(await engine.machines.list()).toEqual([{ id: 'half', state: 'created' }])
      await engine.machines.remove('half', never)
      expect(await engine.machines.list()).toEqual([])
    })
  })

  describe('what a machine may do', () => {
    test('a fork bomb ends at the limit, and the machine and the gateway go on', async () => {
      const engine = await newEngine(newDir(), 60)
      await start(engine, 'bomb')
      await start(engine, 'neighbour')
      const bomb = 'i=0; while [ $i -lt 200 ]; do sleep 300 & i=$((i+1)); done'
      await engine.console.exec('bomb', ['sh', '-c', bomb]).catch(() => undefined)
      const count = Number(await text(engine, 'neighbour', 'ls -d /proc/[0-9]* | wc -l'))
      expect(count).toBeLessThan(10)
      await engine.machines.stop('bomb', never)
      await engine.machines.start('bomb', never)
      expect(await commands(engine, 'bomb')).not.toContain('sleep 300')
      await Promise.all(['bomb', 'neighbour'].map(id => engine.machines.remove(id, never)))
    })

    test('nothing of the driver’s own is within reach but the agent, which cannot be changed', async () => {
      const engine = await newEngine(newDir())
      await start(engine, 'look')
      expect(await text(engine, 'look', 'ls -A /.berth')).toBe('agent\nmachine.json\nnode\npty.node\n')
      const spoil =
        'echo x > /.berth/agent/agent.mjs || rm -rf /.berth/agent || touch /.berth/new || touch /new'
      expect((await engine.console.exec('look', ['sh', '-c', spoil])).exit_code).not.toBe(0)
      expect(await text(engine, 'look', 'ls -l /proc/1/fd /proc/self/fd')).not.toContain(folder)
      await engine.machines.remove('look', never)
    })

    test('whoever watches hears that a command ended, and the machine runs on', async () => {
      const engine = await newEngine(newDir())
      const heard: string[] = []
      const unwatch = engine.observation.watch(id => heard.push(id))
      await engine.machines.create({ ...specOf('ends'), command: ['sh', '-c', 'exit 3'] }, never)
      await engine.machines.start('ends', never)
      await engine.machines.begin('ends', never)
      await eventually(() => expect(heard).toEqual(['ends']))
      const command_end = { exit_code: 3, count: 1 }
      expect(await engine.observation.status('ends')).toMatchObject({ state: 'running', command_end })
      unwatch()
      await engine.machines.remove('ends', never)
    })

    test('root in a machine may listen on low ports, and is nobody outside', async () => {
      const dataDir = newDir()
      const engine = await newEngine(dataDir)
      await start(engine, 'low')
      const listen =
        'socket(S,2,1,0); bind(S,pack("Sna4x8",2,80,"\\0\\0\\0\\0")) or die; listen(S,1); sleep 60'
      await text(engine, 'low', `setsid perl -e '${listen}' > /dev/null 2>&1 &`)
      await eventually(async () => (await engine.network.connect('low', 80)).destroy())
      if (process.getuid?.() === 0) {
        const init = JSON.parse(readFileSync(join(dataDir, 'machines/low/state.json'), 'utf8'))
        const status = readFileSync(`/proc/${init.first_process.pid}/status`, 'utf8')
        const uid = Number(/^Uid:\s*(\d+)/m.exec(status)?.[1])
        expect(uid).toBeGreaterThan(1_000_000)
      }
      await engine.machines.remove('low', never)
    })

    test('[B1] an ordinary user can run all of it', async ctx => {
      if (process.getuid?.() !== 0) return ctx.skip('the whole suite runs as an ordinary user here')
      const dataDir = newDir()
      const nobody = 65534
      mkdirSync(dataDir)
      chmodSync(folder, 0o755)
      chownSync(dataDir, nobody, nobody)
      const gateway = startGateway(dataDir, 'plain', { args: ['--round'], uid: nobody })
      const lines = await gateway.end()
      if (lines.length === 0) return ctx.skip('the project’s folder cannot be read by other users')
      expect(lines).toEqual([
        'made',
        'created',
        'running',
        expect.stringMatching(/^limits \{"enforced":(true|false),/),
        'user 0',
        '0',
        '',
        'shell 4',
        'memory true',
        'state stopped',
        'left []',
      ])
    })
  })
})

async function newEngine(dataDir: string, processesMax?: number): Promise<Engine> {
  const engine = await createSandboxEngine({ dataDir, log, ...(processesMax ? { processesMax } : {}) })
  engines.push(engine)
  return engine
}

let dirs = 0

function newDir(): string {
  return join(folder, `data-${dirs++}`)
}

function specOf(id: string): MachineSpec {
  return smallMachine(id, { id: 'host', parts: { sandbox: 'host' } })
}

async function start(engine: Engine, id: string): Promise<void> {
  await engine.machines.create(specOf(id), never)
  await engine.machines.start(id, never)
}
