import { spawn } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { pino } from 'pino'
import { afterAll, afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { keepAway } from '../../../../test/keep-away.ts'
import { makeQuickFolder } from '../../../../test/quick-folder.ts'
import { type OpenDatabase, openDatabase } from '../open-database.ts'
import { isDatabaseUnavailable } from '../unavailable.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts'

const log = pino({ level: 'silent' })
const RECOVERY = { interval: 50 }

/** One for all tests, as one gateway after another uses it: making it takes longer than most of them. */
const dataDir = makeQuickFolder('embedded')
afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

let servers: EmbeddedPostgres[]
let databases: OpenDatabase[]
beforeEach(() => {
  servers = []
  databases = []
})
afterEach(async () => {
  for (const database of databases) await database.close()
  for (const server of servers) await server.stop()
})

test('keeps what was written over a restart, on a socket that nobody else may open', async () => {
  const first = await start()
  await open(first).db.execute(sql`create table kept as select 42 as value`)
  await close()
  await first.stop()
  expect(first.pid()).toBeNull()

  const { rows } = await open(await start()).db.execute(sql`select value from kept`)
  expect(rows).toEqual([{ value: 42 }])
  const { rows: settings } = await open(servers[1]).db.execute(
    sql`select current_setting('listen_addresses') as addresses, current_setting('fsync') as fsync`,
  )
  expect(settings).toEqual([{ addresses: '', fsync: 'on' }])
})

test('refuses a wrong password', async () => {
  const server = await start()
  const stranger = openDatabase({ url: server.url.replace(/berth:[^@]+@/, 'berth:wrong@'), log })
  databases.push(stranger)
  await expect(stranger.pool.query('select 1')).rejects.toMatchObject({ code: '28P01' })
})

test('a server that was killed is started again, its pool recovers, and calls in between fail at once', async () => {
  const server = await start()
  const { db } = open(server)
  await db.execute(sql`create table outlasting as select 1 as value`)
  const ask = () =>
    db.execute(sql`select value from outlasting`).then(
      ({ rows }) => rows.length,
      error => (isDatabaseUnavailable(error) ? 'away' : error),
    )
  const before = server.pid() ?? 0
  const comeBack = keepAway(join(dataDir, 'postgres'))
  process.kill(before, 'SIGKILL')
  await expect.poll(ask, RECOVERY).toBe('away')
  // It does not come back meanwhile: calls that waited for it would not end.
  expect(await Promise.all([ask(), ask(), ask()])).toEqual(['away', 'away', 'away'])
  comeBack()
  await expect.poll(ask, RECOVERY).toBe(1)
  expect(server.pid()).not.toBe(before)
})

test('listeners hear again after their server was killed, and are told of the gap', async () => {
  const server = await start()
  const { db, listen } = open(server)
  const heard: string[] = []
  let gaps = 0
  await listen(
    'news',
    payload => heard.push(payload),
    () => gaps++,
  )
  await db.execute(sql`select pg_notify('news', 'before')`)
  await expect.poll(() => heard).toEqual(['before'])
  process.kill(server.pid() ?? 0, 'SIGKILL')
  await expect.poll(() => gaps, RECOVERY).toBe(1)
  await db.execute(sql`select pg_notify('news', 'after')`)
  await expect.poll(() => heard).toEqual(['before', 'after'])
})

test('a server that a killed gateway left behind is stopped and its data kept', async () => {
  const orphan = await killGateway()
  const server = await start()
  expect(server.pid()).not.toBe(orphan)
  expect(isAlive(orphan)).toBe(false)
  const { rows } = await open(server).db.execute(sql`select value from orphaned`)
  expect(rows).toEqual([{ value: 7 }])
})

test('a lock file whose process is something else by now is no obstacle, and that process is left alone', async () => {
  const server = await start()
  await server.stop()
  servers = []
  const pidFile = join(dataDir, 'postgres', 'postmaster.pid')
  const foreign = spawn('sleep', ['60'])
  try {
    writeFileSync(pidFile, `${foreign.pid}\n${join(dataDir, 'postgres')}\n`)
    writeFileSync(join(dataDir, 'run', '.s.PGSQL.5432.lock'), `${foreign.pid}\n`)
    await start()
    expect(isAlive(foreign.pid ?? 0)).toBe(true)
    expect(readFileSync(pidFile, 'utf8')).toContain(String(servers[0]?.pid()))
  } finally {
    foreign.kill('SIGKILL')
  }
})

test('a folder with half a database from a crash is made anew', async () => {
  const folder = makeQuickFolder('embedded')
  writeFileSync(join(folder, 'postgres.new'), 'left behind')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  expect((await open(await start(folder)).db.execute(sql`select 1`)).rowCount).toBe(1)
})

test('what keeps it from starting is told in its own words', async () => {
  const server = await start()
  await server.stop()
  servers = []
  const file = join(dataDir, 'postgres', 'PG_VERSION')
  const version = readFileSync(file)
  onTestFinished(() => writeFileSync(file, version))
  writeFileSync(file, '9\n')
  await expect(start()).rejects.toThrow(/PostgreSQL did not start[\s\S]*database files are incompatible/)
})

async function start(folder = dataDir): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir: folder, password: 'a-password-for-tests', log })
  servers.push(server)
  return server
}

function open(server: EmbeddedPostgres | undefined): OpenDatabase {
  const database = openDatabase({ url: server?.url ?? '', log })
  databases.push(database)
  return database
}

async function close(): Promise<void> {
  for (const database of databases.splice(0)) await database.close()
}

/** Runs a process that starts a server, writes something and is killed. @returns The server's process. */
async function killGateway(): Promise<number> {
  const program = `
    import { pino } from 'pino'
    import { Client } from 'pg'
    const { startEmbeddedPostgres } = await import(${JSON.stringify(join(import.meta.dirname, 'embedded-postgres.ts'))})
    const log = pino({ level: 'silent' })
    const server = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)}, password: 'a-password-for-tests', log })
    const client = new Client({ connectionString: server.url })
    await client.connect()
    await client.query('create table orphaned as select 7 as value')
    process.stdout.write(String(server.pid()))
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', program], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const pid = await new Promise<number>((resolve, reject) => {
    child.stdout.once('data', chunk => resolve(Number(chunk)))
    child.once('exit', () => reject(new Error('the process ended by itself')))
  })
  const gone = new Promise(resolve => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
  expect(isAlive(pid)).toBe(true)
  return pid
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}
