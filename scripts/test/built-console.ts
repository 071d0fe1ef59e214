import { join } from 'node:path'
import { ensureConsoleBuilt } from '../lib/console-build.mjs'
import { root } from '../lib/paths.mjs'
import { prepare } from '../lib/prepare.mjs'

/**
 * The console as customers get it, for tests that look at its files: it is built where its sources changed.
 * @returns The folder of the build.
 */
export async function builtConsole(): Promise<string> {
  if (!(await prepare([ensureConsoleBuilt]))) throw new Error('the console could not be built; see above')
  return join(root, 'apps/console/dist')
}
