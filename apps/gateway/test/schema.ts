import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api'

const root = resolve(import.meta.dirname, '..')

/** Statements that make the schema as the tables.ts files have it now. */
export async function schemaStatements(): Promise<string[]> {
  const files = globSync('src/**/tables.ts', { cwd: root }).sort()
  const modules = await Promise.all(files.map(file => import(pathToFileURL(join(root, file)).href)))
  const tables = Object.assign({}, ...modules)
  const made = await generateMigration(generateDrizzleJson({}), generateDrizzleJson(tables))
  const custom = globSync('drizzle/*_ledger_append_only.sql', { cwd: root })
    .sort()
    .flatMap(file => readFileSync(join(root, file), 'utf8').split('--> statement-breakpoint'))
  return [...made, ...custom]
}
