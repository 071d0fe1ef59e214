import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { root } from '../lib/paths.mjs'

const GATEWAY_TESTS = join(root, 'apps/gateway/test')
const SERVE = ['--import', join(GATEWAY_TESTS, 'quick-imports.ts'), join(GATEWAY_TESTS, 'serve-postgres.ts')]
/** Where in the environment the tests find it. */
const PLACE = 'BERTH_TEST_POSTGRES'

/** A PostgreSQL that another process runs for tests. */
export interface PostgresPlace {
  /** Its address, on its maintenance database. */
  url: string
  /** The migrated database there that each test's is copied from. */
  templateName: string
}

/** Where the PostgreSQL of this run is; undefined where none was started. */
export function postgresPlace(): PostgresPlace | undefined {
  const place = process.env[PLACE]
  return place === undefined ? undefined : JSON.parse(place)
}

/**
 * Starts one PostgreSQL for all tests of a run, unless there is one, and tells every process that is started from now on:
 * making one and its schema takes longer than many a test.
 * @returns What stops it.
 * @throws Error when it did not start; what it said is on the screen.
 */
export async function startOnePostgres(): Promise<() => Promise<void>> {
  if (postgresPlace() !== undefined) return async () => {}
  const server = spawn(process.execPath, SERVE, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(server, 'exit')
  const line = once(createInterface(server.stdout), 'line')
  const [place] = await Promise.race([line, ended])
  if (typeof place !== 'string') throw new Error('The PostgreSQL of the tests did not start.')
  process.env[PLACE] = place
  return async () => {
    delete process.env[PLACE]
    server.stdin.end()
    await ended
  }
}
