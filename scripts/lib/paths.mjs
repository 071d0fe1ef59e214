import { existsSync } from 'node:fs'
import { delimiter, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the clone, absolute. */
export const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..')

/** The Node that the lockfile pins. It is there after the install, whatever Node the machine has. */
export const pinnedNode = join(
  root,
  'node_modules/node/bin',
  process.platform === 'win32' ? 'node.exe' : 'node',
)

/**
 * Finds the script of a package's command, to be run with {@link pinnedNode}.
 * @param {string} name The command, such as `vite`.
 * @param {string} [workspace] Folder of the workspace that depends on it, from the root.
 * @returns {string} An absolute path; it does not exist when the package is not installed.
 */
export function toolPath(name, workspace = '.') {
  const own = join(root, workspace, 'node_modules/.bin', name)
  return existsSync(own) ? own : join(root, 'node_modules/.bin', name)
}

/**
 * PATH without the project's own commands. npm puts `node_modules/.bin` first, and the Node in it
 * must not be the one that runs an install, because the install deletes it half-way.
 * @returns {string}
 */
export function machinePath() {
  const parts = (process.env.PATH ?? '').split(delimiter)
  return parts.filter(part => !part.replaceAll('\\', '/').endsWith('node_modules/.bin')).join(delimiter)
}
