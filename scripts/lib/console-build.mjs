import { ensureBuilt } from './built.mjs'

/**
 * Builds the console, unless what is built already came from these very sources.
 * @returns {Promise<void>} Rejects with a `CommandError` that carries the build's output.
 */
export function ensureConsoleBuilt() {
  return ensureBuilt({
    label: 'Building the console',
    workspace: 'apps/console',
    tool: 'vite',
    args: ['build'],
    inputs: ['apps/console', 'packages/contract', 'package-lock.json', 'tsconfig.base.json'],
  })
}
