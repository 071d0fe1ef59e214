import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { builtGateway } from '../../../../scripts/test/built-gateway.ts'
import { freePort } from '../../../../scripts/test/free-port.ts'
import { endProcesses, processesOf } from './processes-fixture.ts'

/** A start takes a second or two; a machine that does much else may need far longer. */
const READY_MS = 180_000
const READY_POLL_MS = 25
/** How long an orderly end may take before the test takes it for one that hangs. */
const END_MS = 120_000

/** A data folder and a port of their own, on which real gateways are started, killed and started again. */
export interface GatewayHome {
  dataDir: string
  port: number
  /** `http://127.0.0.1:<port>` */
  origin: string
  /** Starts a gateway and does not wait for it. */
  launch(settings?: Record<string, string>): GatewayRun
  /** Starts a gateway and waits until it answers. */
  start(settings?: Record<string, string>): Promise<GatewayRun>
  /** All that its gateways said, for a test that fails. */
  output(): string
  /** Ends all that runs on the folder and removes it. */
  remove(): Promise<void>
}

/** One process of a gateway. */
export interface GatewayRun {
  pid: number
  /** All that it said so far, on both streams. */
  output(): string
  /** Its exit code, or null when a signal ended it. */
  ended: Promise<number | null>
  /** Resolves when the gateway answers. @throws Error with what it said when it ends or hangs instead. */
  ready(): Promise<void>
  /** Kills it with SIGKILL, and returns when it is gone. */
  kill(): Promise<void>
  /** Sends SIGINT, as Ctrl+C does. Gives the exit code. */
  interrupt(): Promise<number | null>
}

export interface HomeOptions {
  /** Environment settings over the fixture's own. */
  settings?: Record<string, string>
  /** Where the data folder is; a fresh one in the temporary folder when left out. */
  folder?: string
  /** Who the gateway runs as. */
  user?: { uid: number; gid: number }
}

/** Makes a home for gateways. Nothing runs in it yet. */
export async function createGatewayHome(options: HomeOptions = {}): Promise<GatewayHome> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'berth-test-fault-'))
  const dataDir = join(folder, 'data')
  const program = await builtGateway()
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const runs: GatewayRun[] = []

  function launch(settings: Record<string, string> = {}): GatewayRun {
    const child = spawn(process.execPath, [program], {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        BERTH_DATA_DIR: dataDir,
        BERTH_PORT: String(port),
        BERTH_COMPUTE: 'sandbox',
        BERTH_DEMO: 'off',
        BERTH_LOG_LEVEL: 'warn',
        // Often, so that a kill is likely to fall into a posting.
        BERTH_METERING_MS: '500',
        ...options.settings,
        ...settings,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...options.user,
    })
    const run = runOf(child, origin)
    runs.push(run)
    return run
  }

  return {
    dataDir,
    port,
    origin,
    launch,
    async start(settings) {
      const run = launch(settings)
      await run.ready()
      return run
    },
    output: () => runs.map((run, index) => `── gateway ${index + 1}\n${run.output()}`).join('\n'),
    async remove() {
      for (const run of runs) await run.kill()
      await endProcesses(() => processesOf(dataDir))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function runOf(child: ChildProcess, origin: string): GatewayRun {
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', chunk => {
      output += chunk
    })
  }
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', code => resolve(code))
  })
  ended.catch(() => {})
  const isOver = () => child.exitCode !== null || child.signalCode !== null

  return {
    pid: child.pid ?? 0,
    output: () => output,
    ended,
    async ready() {
      const deadline = performance.now() + READY_MS
      while (!(await isHealthy(origin))) {
        if (isOver()) throw new Error(`The gateway ended instead of starting:\n${output}`)
        if (performance.now() > deadline) throw new Error(`The gateway did not come up:\n${output}`)
        await new Promise(resolve => setTimeout(resolve, READY_POLL_MS))
      }
    },
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    async interrupt() {
      child.kill('SIGINT')
      const late = setTimeout(() => child.kill('SIGKILL'), END_MS)
      const code = await ended
      clearTimeout(late)
      return code
    },
  }
}

async function isHealthy(origin: string): Promise<boolean> {
  return fetch(`${origin}/gateway/health`).then(
    answer => answer.ok,
    () => false,
  )
}
