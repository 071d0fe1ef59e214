import type { TestProject } from 'vitest/node'
import { postgresPlace, startOnePostgres } from '../../../scripts/test/one-postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the run's PostgreSQL, on its maintenance database. */
    postgresUrl: string
    /** Name of the migrated database that each test's database is copied from. */
    templateName: string
  }
}

/** Has one PostgreSQL for the whole run: the one that is there, or its own, which it stops at the end. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const stop = await startOnePostgres()
  const { url = '', templateName = '' } = postgresPlace() ?? {}
  project.provide('postgresUrl', url)
  project.provide('templateName', templateName)
  return stop
}
