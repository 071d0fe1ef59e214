import { randomBytes } from 'node:crypto'
import { Pool } from 'pg'

const CONNECTIONS_MAX = 4

const servers = new Map<string, Pool>()

/** A database of a test. */
export interface CopiedDatabase {
  url: string
  /** Removes it; what is still connected to it is cut off. */
  drop(): Promise<void>
}

/**
 * Makes a database of its own with the whole schema and no rows, in milliseconds.
 * @param serverUrl A PostgreSQL of a run of tests, on its maintenance database.
 * @param templateName The database there that it is copied from.
 */
export async function copyTemplate(serverUrl: string, templateName: string): Promise<CopiedDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`
  await onServer(serverUrl, `create database ${name} template ${templateName} strategy file_copy`)
  return {
    url: serverUrl.replace('/postgres?', `/${name}?`),
    drop: () => onServer(serverUrl, `drop database if exists ${name} with (force)`),
  }
}

/** By a connection that this process keeps for the next one, and that keeps no process from ending. */
async function onServer(url: string, statement: string): Promise<void> {
  let server = servers.get(url)
  if (server === undefined) {
    server = new Pool({ connectionString: url, max: CONNECTIONS_MAX, allowExitOnIdle: true })
    // The server of a run ends before the processes that used it.
    server.on('error', () => {})
    servers.set(url, server)
  }
  await server.query(statement)
}
