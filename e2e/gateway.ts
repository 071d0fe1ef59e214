import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { builtGateway } from '../scripts/test/built-gateway.ts'
import { freePort } from '../scripts/test/free-port.ts'
import { makeDatabase } from './one-postgres.ts'

/** Only what never comes meets it, also on a computer that does much else. */
const READY_MS = 120_000

const OPERATOR = fileURLToPath(new URL('../apps/gateway/src/operator/operator.ts', import.meta.url))

/** A gateway of its own: its database, its machines and its port are nobody else's. */
export interface Gateway {
  /** `http://127.0.0.1:<port>` */
  origin: string
  /** Its database, for what no call and no command can bring about here. */
  databaseUrl: string
  /** What it printed so far. */
  output(): string
  /** Does with it what its operator does: `npm run operator -- <words>`. @throws Where that fails. */
  operate(...words: string[]): Promise<void>
  /** The link that signs the demo customer in, once; it is printed a moment after the gateway answers. */
  signInLink(): Promise<string>
  stop(): Promise<void>
}

/**
 * Starts the real gateway in a folder that is removed afterwards.
 * @param settings Environment settings over the test's own.
 */
export async function startGateway(settings: Record<string, string> = {}): Promise<Gateway> {
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-e2e-'))
  const database = await makeDatabase()
  const program = await builtGateway()
  // Walks beside this one have a gateway of their own, which may have the usual ports of SSH and S3.
  const [port, sshPort, s3Port] = [await freePort(), await freePort(), await freePort()]
  const printed: string[] = []
  const env = {
    ...process.env,
    BERTH_DATA_DIR: dataDir,
    BERTH_PORT: String(port),
    BERTH_SSH_PORT: String(sshPort),
    BERTH_S3_PORT: String(s3Port),
    DATABASE_URL: database.url,
    // Usage is posted often, so that the walk sees it on the receipt.
    BERTH_METERING_MS: '1000',
    BERTH_LOG_LEVEL: 'warn',
    // The default needs no engine; an engine that happens to run here would want images from a registry.
    BERTH_COMPUTE: 'sandbox',
    BERTH_FIND_MODELS: 'off',
    ...settings,
  }
  const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.on('data', chunk => printed.push(String(chunk)))
  child.stderr.on('data', chunk => printed.push(String(chunk)))
  const origin = `http://127.0.0.1:${port}`
  await untilHealthy(origin, child, () => printed.join(''))
  return {
    origin,
    databaseUrl: database.url,
    output: () => printed.join(''),
    async operate(...words) {
      await promisify(execFile)(process.execPath, [OPERATOR, ...words], { env })
    },
    signInLink: () => untilPrinted(/http\S+\/auth\?ticket=\S+/, () => printed.join('')),
    async stop() {
      const ended = new Promise(resolve => child.once('exit', resolve))
      child.kill('SIGINT')
      await ended
      await database.drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

async function untilHealthy(origin: string, child: ChildProcess, printed: () => string): Promise<void> {
  const deadline = Date.now() + READY_MS
  while (Date.now() < deadline) {
    if (child.exitCode !== null) break
    const healthy = await fetch(`${origin}/gateway/health`).then(
      answer => answer.ok,
      () => false,
    )
    if (healthy) return
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  child.kill('SIGKILL')
  throw new Error(`The gateway did not come up:\n${printed()}`)
}

async function untilPrinted(pattern: RegExp, printed: () => string): Promise<string> {
  const deadline = Date.now() + READY_MS
  while (Date.now() < deadline) {
    const found = pattern.exec(printed())?.[0]
    if (found !== undefined) return found
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  throw new Error(`The gateway did not print ${pattern}:\n${printed()}`)
}
