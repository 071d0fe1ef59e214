import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api'

const root = resolve(import.meta.dirname, '..')

/**
 * Statements that are missing between the committed migrations and what the tables.ts files say now. None, once
 * `npm run migration -w @berth/gateway` has been run.
 */
export async function pendingStatements(): Promise<string[]> {
  const files = globSync('src/**/tables.ts', { cwd: root }).sort()
  const modules = await Promise.all(files.map(file => import(pathToFileURL(join(root, file)).href)))
  const latest = globSync('drizzle/meta/*_snapshot.json', { cwd: root }).sort().at(-1)
  const committed = latest ? JSON.parse(readFileSync(join(root, latest), 'utf8')) : generateDrizzleJson({})
  return generateMigration(committed, generateDrizzleJson(Object.assign({}, ...modules)))
}
