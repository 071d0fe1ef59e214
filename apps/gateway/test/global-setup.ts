import type { TestProject } from 'vitest/node'
import { startTestPostgres } from './test-postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the run's PostgreSQL, on its maintenance database. */
    postgresUrl: string
    /** Name of the migrated database that each test's database is copied from. */
    templateName: string
  }
}

/** Starts one PostgreSQL for the whole run, and stops it at the end. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await startTestPostgres()
  project.provide('postgresUrl', postgres.url)
  project.provide('templateName', postgres.templateName)
  return postgres.stop
}
