import { type CopiedDatabase, copyTemplate } from '../apps/gateway/test/copy-template.ts'
import { postgresPlace, startOnePostgres } from '../scripts/test/one-postgres.ts'

/** A database for one gateway, migrated and empty. */
export function makeDatabase(): Promise<CopiedDatabase> {
  const place = postgresPlace()
  if (place === undefined) throw new Error('The PostgreSQL of the run is not there.')
  return copyTemplate(place.url, place.templateName)
}

// biome-ignore lint/style/noDefaultExport: Playwright calls a global setup by its file's default export.
export default startOnePostgres
