import { randomBytes } from 'node:crypto'
import { Client } from 'pg'

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

async function onServer(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
