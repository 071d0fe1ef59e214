import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { access, chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import type { Logger } from 'pino'
import { makePrivateFolder } from '../../data-dir.ts'
import { sha256Hex } from '../../hash.ts'
import { findBinaries, type PostgresBinaries } from './binaries.ts'
import { chooseOsUser, findObstacle, giveTo, type OsUser } from './os-user.ts'
import { clearLeftover, stopServer } from './postmaster.ts'
import { superviseServer } from './supervisor.ts'

const run = promisify(execFile)

const USER = 'berth'
const DATABASE = 'berth'
/** PostgreSQL names its socket after a port, also where it listens on none. */
const PORT = 5432
/** The least of what systems take for a socket's path (macOS: 104 bytes with the final zero). */
const SOCKET_PATH_BYTES_MAX = 103

export interface EmbeddedPostgres {
  /** A `postgresql://` address with the password in it: not for logs. */
  url: string
  /** The address of another database in the same server. */
  urlOf(database: string): string
  /** The process that serves now; null while it is being restarted. */
  pid(): number | null
  stop(): Promise<void>
}

export interface EmbeddedOptions {
  /** The gateway's data folder. The caller holds its lock. */
  dataDir: string
  password: string
  log: Pick<Logger, 'info' | 'warn' | 'error' | 'debug'>
  /** Server settings beyond the usual ones, for tests. */
  settings?: Record<string, string>
}

/**
 * Runs a PostgreSQL in the data folder, as a child process that is started again when it dies. It listens on a
 * Unix socket alone. A server that a killed gateway left behind is stopped first. Ready when this returns.
 * @throws Error with words for the operator when it cannot run here.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { log, password } = options
  const dataDir = resolve(options.dataDir)
  const folder = join(dataDir, 'postgres')
  const socketDir = chooseSocketDir(dataDir)
  const binaries = await findBinaries()
  const user = await chooseOsUser()
  for (const path of [dataDir, socketDir]) makePrivateFolder(path)
  // Another user must be able to pass through; what is in it has narrow modes of its own.
  if (user.ids.uid !== undefined) await chmod(dataDir, 0o711)
  await giveTo(user, socketDir)

  const socketFile = join(socketDir, `.s.PGSQL.${PORT}`)
  if (await clearLeftover(folder, socketFile))
    log.info('stopped the PostgreSQL that an earlier run left behind')
  if (!(await exists(join(folder, 'PG_VERSION')))) {
    log.info('making the database')
    await initialise({ folder, binaries, user, password })
  }
  await giveTo(user, folder)
  const obstacle = await findObstacle(user, binaries.postgres, folder)
  if (obstacle) {
    throw new Error(
      `${obstacle} Run Berth as an ordinary user, put BERTH_DATA_DIR where that user may go, or set DATABASE_URL.`,
    )
  }

  const urlOf = (database: string) => embeddedUrlOf(dataDir, password, database)
  const server = await superviseServer({
    log,
    start: () => spawnServer({ folder, socketDir, binaries, user, settings: options.settings ?? {} }),
    probe: () => probe(urlOf('postgres')),
    beforeRestart: async () => {
      await clearLeftover(folder, socketFile)
    },
    stopProcess: stopServer,
  })
  log.debug({ how: user.how, pid: server.pid() }, 'PostgreSQL runs')
  await ensureDatabase(urlOf('postgres')).catch(async error => {
    await server.stop()
    throw error
  })
  return { url: urlOf(DATABASE), urlOf, pid: server.pid, stop: server.stop }
}

interface Place {
  folder: string
  binaries: PostgresBinaries
  user: OsUser
}

/** Made beside its place and moved there when it is whole, so that a crash never leaves half a database. */
async function initialise({ folder, binaries, user, password }: Place & { password: string }): Promise<void> {
  const draft = `${folder}.new`
  const passwordFile = `${draft}.password`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { mode: 0o700 })
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 })
  try {
    await giveTo(user, draft)
    await giveTo(user, passwordFile)
    const obstacle = await findObstacle(user, binaries.initdb, draft)
    if (obstacle) {
      throw new Error(
        `${obstacle} Run Berth as an ordinary user, put BERTH_DATA_DIR where that user may go, or set DATABASE_URL.`,
      )
    }
    const { file, args } = user.wrap(binaries.initdb, [
      `--pgdata=${draft}`,
      `--username=${USER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // The same order and case rules on every machine, whatever its locales.
      '--locale-provider=builtin',
      '--locale=C',
      '--builtin-locale=C.UTF-8',
    ])
    await run(file, args, { ...user.ids, env: cleanEnvironment() })
  } finally {
    await rm(passwordFile, { force: true })
  }
  await rename(draft, folder)
}

function spawnServer(place: Place & { socketDir: string; settings: Record<string, string> }): ChildProcess {
  const settings: Record<string, string> = {
    listen_addresses: '',
    // Quoted, so that a comma in the path separates nothing.
    unix_socket_directories: `"${place.socketDir}"`,
    unix_socket_permissions: '0700',
    port: String(PORT),
    max_connections: '100',
    cluster_name: 'berth',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_line_prefix: '',
    ...place.settings,
  }
  const { file, args } = place.user.wrap(place.binaries.postgres, [
    '-D',
    place.folder,
    ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]),
  ])
  return spawn(file, args, {
    ...place.user.ids,
    env: cleanEnvironment(),
    stdio: ['ignore', 'ignore', 'pipe'],
    // A session of its own: Ctrl+C is for the gateway, which stops the database last.
    detached: true,
  })
}

/** Nothing of the gateway's settings, and no PGDATA or PGPORT of somebody else. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' }
}

/** Resolves when the server answers with our password. */
async function probe(url: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
  } finally {
    await client.end().catch(() => {})
  }
}

async function ensureDatabase(url: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE])
    if (!rowCount) await client.query(`create database ${DATABASE}`)
  } finally {
    await client.end()
  }
}

/** Where the server of a data folder is reached while its gateway runs. */
export function embeddedUrlOf(dataDir: string, password: string, database = DATABASE): string {
  const place = `host=${encodeURIComponent(chooseSocketDir(resolve(dataDir)))}&port=${PORT}`
  return `postgresql://${USER}:${encodeURIComponent(password)}@/${database}?${place}`
}

function chooseSocketDir(dataDir: string): string {
  const own = join(dataDir, 'run')
  const fits = Buffer.byteLength(join(own, `.s.PGSQL.${PORT}.lock`)) <= SOCKET_PATH_BYTES_MAX
  return fits ? own : join(tmpdir(), `berth-${sha256Hex(dataDir).slice(0, 16)}`)
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
