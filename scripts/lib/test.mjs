import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { runInForeground } from './child.mjs'
import { ensureInstalled } from './install.mjs'
import { pinnedNode, root } from './paths.mjs'
import { prepare } from './prepare.mjs'

/**
 * Installs what is missing and runs every stage of the tests on the pinned Node.
 * @param {readonly string[]} filters Names or paths of Vitest files; with any, only these run.
 * @returns {Promise<void>} Settles when all has run; the exit code is 0 only when nothing failed.
 */
export async function test(filters) {
  if (!(await prepare([ensureInstalled]))) {
    console.log('0 passed, 1 failed')
    return
  }
  const watcher = pathToFileURL(join(root, 'scripts/lib/stop-with-parent.mjs')).href
  await runInForeground(pinnedNode, ['--import', watcher, 'scripts/test/main.ts', ...filters], { cwd: root })
}
