import type { Client } from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import type { KeptTable, Manifest } from './backup-format.ts'

/** What says which gateway does what now: nothing of it is true once the installation is another. */
const NOT_KEPT: readonly string[] = [
  'public.lease',
  'public.gateway',
  'public.held_catalogue',
  'public.engine_reach',
  'public.rate_count',
]

/** Begins to look at the database as it is at this moment, however long it is looked at and whatever goes on meanwhile. */
export async function beginSnapshot(client: Client): Promise<void> {
  await client.query('set statement_timeout = 0')
  await client.query('set idle_in_transaction_session_timeout = 0')
  await client.query('begin transaction isolation level repeatable read, read only')
}

/** What of the database is in a backup: every table of ours with its own columns, and the jobs that wait. */
export async function describeDatabase(
  client: Client,
): Promise<Pick<Manifest, 'migrations' | 'tables' | 'sequences' | 'key_ids'>> {
  const { rows: tables } = await client.query<KeptTable>(
    `select n.nspname as schema, c.relname as name,
       array_agg(a.attname::text order by a.attnum) as columns
     from pg_class c
       join pg_namespace n on n.oid = c.relnamespace
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     where not c.relispartition and
       (n.nspname = 'public' and c.relkind in ('r', 'p') or n.nspname = 'pgboss' and c.relname = 'job')
     group by 1, 2 order by 1 desc, 2`,
  )
  const { rows: migrations } = await client.query(
    'select hash, created_at::float8 as created_at from drizzle.__drizzle_migrations order by created_at',
  )
  const { rows: sequences } = await client.query(
    `select sequencename as name, last_value::text as last_value from pg_sequences
     where schemaname = 'public' and last_value is not null order by 1`,
  )
  const { rows: keys } = await client.query('select distinct key_id from kept_secret order by 1')
  return {
    migrations,
    tables: tables.filter(({ schema, name }) => !NOT_KEPT.includes(`${schema}.${name}`)),
    sequences,
    key_ids: keys.map(({ key_id }) => key_id),
  }
}

/** The rows of a table in the order of its columns, as PostgreSQL's `COPY` writes them. */
export function rowsOf(client: Client, table: KeptTable): AsyncIterable<Buffer> {
  const columns = table.columns.map(quoted).join(', ')
  // What is done is of no use to anybody.
  const which = table.schema === 'pgboss' ? ` where state < 'completed'` : ''
  return client.query(
    copyTo(`copy (select ${columns} from ${quoted(table.schema)}.${quoted(table.name)}${which}) to stdout`),
  )
}

/** A name as SQL has it. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
