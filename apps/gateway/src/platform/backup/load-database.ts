import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { readMigrationFiles } from 'drizzle-orm/migrator'
import type { Client } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { BadBackup, type KeptTable, type Manifest } from './backup-format.ts'
import { quoted } from './dump-database.ts'

const MIGRATIONS_DIR = join(import.meta.dirname, '../../../drizzle')
/** The number under which gateways that start wait for each other (`database/migrate.ts`). */
const LOCK_ID = 7_366_214_905

/** Whether anything of an installation is in the database. */
export async function isInUse(client: Client): Promise<boolean> {
  const { rows } = await client.query(`select to_regclass('public.kept_secret') is not null as there`)
  if (!rows[0]?.there) return false
  const { rows: kept } = await client.query('select exists (select from public.kept_secret) as used')
  return kept[0]?.used === true
}

/** The steps by which this version makes the schema of a backup. @throws BadBackup where it was made by another one. */
export function migrationsOf({ migrations }: Manifest) {
  const known = new Map(readMigrationFiles({ migrationsFolder: MIGRATIONS_DIR }).map(one => [one.hash, one]))
  return migrations.map(({ hash }) => {
    const found = known.get(hash)
    if (!found)
      throw new BadBackup('The backup was made by a newer version of Berth: restore it with that one.')
    return found
  })
}

/**
 * Begins to put a backup's database in place of what is there: the schema of its version, without what would hold its rows
 * back while they come. Everything is one transaction, so that a restore that breaks off has changed nothing.
 */
export async function beginLoad(client: Client, manifest: Manifest): Promise<void> {
  await client.query('set statement_timeout = 0')
  await client.query('set idle_in_transaction_session_timeout = 0')
  await client.query('begin')
  await client.query('select pg_advisory_xact_lock($1)', [LOCK_ID])
  for (const schema of ['pgboss', 'drizzle', 'public']) {
    await client.query(`drop schema if exists ${schema} cascade`)
  }
  await client.query('create schema public')
  await client.query('create schema drizzle')
  await client.query(
    'create table drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)',
  )
  for (const { sql, hash, folderMillis } of migrationsOf(manifest)) {
    for (const statement of sql) await client.query(statement)
    await client.query('insert into drizzle.__drizzle_migrations (hash, created_at) values ($1, $2)', [
      hash,
      folderMillis,
    ])
  }
  await client.query(
    `create temporary table held_back on commit drop as
     select conrelid::regclass::text as of_table, quote_ident(conname) as name, pg_get_constraintdef(oid) as rule
     from pg_constraint where contype = 'f' and connamespace = 'public'::regnamespace and conparentid = 0`,
  )
  await client.query(`do $$ declare one record; begin
    for one in select * from held_back loop
      execute format('alter table %s drop constraint %s', one.of_table, one.name);
    end loop;
    for one in select format('%I.%I', schemaname, tablename) as of_table from pg_tables where schemaname = 'public' loop
      execute format('alter table %s disable trigger user', one.of_table);
      execute format('delete from %s', one.of_table);
    end loop;
  end $$`)
}

/** Takes rows as `COPY` wrote them. @returns How many there were. */
export async function loadRows(
  client: Client,
  table: KeptTable,
  bytes: AsyncIterable<Buffer>,
): Promise<number> {
  const columns = table.columns.map(quoted).join(', ')
  const stream = client.query(
    copyFrom(`copy ${quoted(table.schema)}.${quoted(table.name)} (${columns}) from stdin`),
  )
  await pipeline(bytes, stream)
  return stream.rowCount ?? 0
}

/** Puts back what held rows back, each row checked by it, and ends the transaction. */
export async function endLoad(client: Client, { sequences }: Manifest): Promise<void> {
  await client.query(`do $$ declare one record; begin
    for one in select format('%I.%I', schemaname, tablename) as of_table from pg_tables where schemaname = 'public' loop
      execute format('alter table %s enable trigger user', one.of_table);
    end loop;
    for one in select * from held_back loop
      execute format('alter table %s add constraint %s %s', one.of_table, one.name, one.rule);
    end loop;
  end $$`)
  for (const { name, last_value } of sequences) {
    await client.query('select setval($1::regclass, $2::bigint)', [`public.${quoted(name)}`, last_value])
  }
  await client.query('commit')
}

/** Jobs that waited, kept by this connection until their own tables are there. */
const JOBS = 'jobs_of_backup'

/** Takes jobs for {@link sendJobs}, within the transaction of the load. @returns How many there were. */
export async function keepJobs(
  client: Client,
  table: KeptTable,
  bytes: AsyncIterable<Buffer>,
): Promise<number> {
  // As text: the tables of another version may have other columns.
  const columns = table.columns.map(name => `${quoted(name)} text`).join(', ')
  await client.query(`create temporary table ${JOBS} (${columns}) on commit preserve rows`)
  const stream = client.query(copyFrom(`copy ${JOBS} from stdin`))
  await pipeline(bytes, stream)
  return stream.rowCount ?? 0
}

/** Has the jobs that waited done by the gateways of now. What they have no queue for is left out. */
export async function sendJobs(client: Client, { columns }: KeptTable): Promise<void> {
  const { rows } = await client.query(
    `select a.attname as name, format_type(a.atttypid, a.atttypmod) as type from pg_attribute a
     where a.attrelid = 'pgboss.job'::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''`,
  )
  const known = rows.filter(({ name }) => columns.includes(name))
  const names = known.map(({ name }) => quoted(name)).join(', ')
  const values = known.map(({ name, type }) => `${quoted(name)}::${type}`).join(', ')
  await client.query(
    `insert into pgboss.job (${names}) select ${values} from ${JOBS}
     where name in (select name from pgboss.queue) on conflict do nothing`,
  )
}
