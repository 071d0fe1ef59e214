import { type ChildProcess, fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { rolldown } from 'rolldown'
import { buildOf } from '../../rolldown.config.mjs'
import type { FakeEngine } from '../../src/drivers/compute/fake/fake-engine.ts'
import { startEmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.ts'
import { migrate } from '../../src/platform/database/migrate.ts'
import { makeQuickFolder } from '../quick-folder.ts'
import { servedEngine, serveEngine } from './engine-wire.ts'
import { createOperator, type Operator } from './operator.ts'
import { openSharedClock, type SharedClock } from './shared-clock.ts'

const READY_MS = 120_000
const POLL_MS = 20
const GATEWAY = join(import.meta.dirname, '../..')
/** What the built one imports as it is. */
const PACKAGES = join(GATEWAY, '../../node_modules')
/** What a gateway said is kept for a run that fails: the end of it. */
const SAID_CHARS_MAX = 40_000

/** An installation of a run: a database of its own, an engine, gateways in processes of their own, and who runs it. */
export interface World {
  clock: SharedClock
  engine: FakeEngine
  operator: Operator
  /** Where the gateways are that run now. */
  origins(): string[]
  /** Kills a gateway with SIGKILL and starts another one in its place, which may know of it. */
  kill(index: number, knownDead: boolean): Promise<void>
  /** Ends the database at once, by a signal; its keeper starts it again. */
  endDatabase(signal: 'SIGQUIT' | 'SIGKILL'): void
  /** The lines of the gateways' logs that hold a text, as far as they are still held. */
  saidOf(text: string): string
  stop(): Promise<void>
}

interface Running {
  id: string
  child: ChildProcess
  origin: string | null
}

/**
 * Builds what one gateway of a run is: as sources it takes four seconds of a processor to start, built one, and a run starts
 * hundreds. @returns Its file.
 */
async function buildProgram(folder: string): Promise<string> {
  const dir = join(folder, 'gateway')
  symlinkSync(PACKAGES, join(folder, 'node_modules'))
  const { output, ...input } = buildOf({ gateway: 'test/books-run/run-gateway.ts' }, dir)
  const build = await rolldown(input)
  await build.write(output)
  await build.close()
  return join(dir, 'gateway.mjs')
}

/** Starts an installation with so many gateways. */
export async function startWorld(gateways: number): Promise<World> {
  const folder = makeQuickFolder('books-run')
  const postgres = await startEmbeddedPostgres({
    dataDir: folder,
    password: 'for-tests-on-a-private-socket',
    log: pino({ level: 'silent' }),
    // The computer outlives the run, and what was committed must outlive the database: it is killed.
    settings: { fsync: 'off', full_page_writes: 'off', max_connections: '120' },
  })
  await migrate(postgres.url)
  const program = await buildProgram(folder)
  const clockFile = join(folder, 'clock')
  const clock = openSharedClock(clockFile)
  const engine = servedEngine(clock)
  const operator = await createOperator({ url: postgres.url, clock })
  const running: Running[] = []
  let said = ''

  async function start(index: number, former: string): Promise<void> {
    const id = randomUUID()
    const child = fork(program, [postgres.url, clockFile, id, former], {
      // Flags of the tests' own processes are for the sources.
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    const one: Running = { id, child, origin: null }
    running[index] = one
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', chunk => {
        said = (said + chunk).slice(-SAID_CHARS_MAX)
      })
    }
    serveEngine(engine, child)
    const ready = Promise.withResolvers<void>()
    const late = setTimeout(() => ready.reject(new Error(`a gateway does not start:\n${said}`)), READY_MS)
    child.on('message', (told: { ready?: string }) => {
      if (told.ready === undefined) return
      one.origin = told.ready
      ready.resolve()
    })
    const ended = () => {
      if (running[index] !== one) return ready.resolve()
      // The database may be away while it starts, which ends it; whoever looks after gateways starts it again.
      one.origin = null
      start(index, '').then(ready.resolve, ready.reject)
    }
    child.once('exit', ended)
    await ready.promise
    clearTimeout(late)
  }

  await Promise.all(Array.from({ length: gateways }, (_, index) => start(index, '')))
  return {
    clock,
    engine,
    operator,
    origins: () => running.flatMap(({ origin }) => origin ?? []),
    async kill(index, knownDead) {
      const one = running[index]
      if (!one) return
      one.origin = null
      const started = start(index, knownDead ? one.id : '')
      one.child.kill('SIGKILL')
      await started
    },
    endDatabase(signal) {
      const pid = Number.parseInt(readFileSync(join(folder, 'postgres/postmaster.pid'), 'utf8'), 10)
      if (pid > 0) process.kill(pid, signal)
    },
    saidOf: text =>
      said
        .split('\n')
        .filter(line => line.includes(text))
        .join('\n'),
    async stop() {
      const children = running.splice(0).map(({ child }) => child)
      for (const child of children) child.kill('SIGKILL')
      while (children.some(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
        await new Promise(resolve => setTimeout(resolve, POLL_MS))
      }
      await operator.close()
      clock.close()
      await postgres.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
