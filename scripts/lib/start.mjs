import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { runInForeground } from './child.mjs'
import { ensureConsoleBuilt } from './console-build.mjs'
import { builtGatewayFile, ensureGatewayBuilt, gatewayFlags } from './gateway-build.mjs'
import { ensureInstalled } from './install.mjs'
import { pinnedNode, root } from './paths.mjs'
import { prepare } from './prepare.mjs'

/**
 * Gets the clone ready and runs the gateway on the pinned Node until it ends, with the settings in `.env`.
 * @param {readonly string[]} args Passed on to the gateway.
 * @returns {Promise<void>} Settles when the gateway has ended; the exit code is the gateway's.
 */
export async function start(args) {
  if (!(await prepare([ensureInstalled, ensureConsoleBuilt, ensureGatewayBuilt]))) return
  const watcher = pathToFileURL(join(root, 'scripts/lib/stop-with-parent.mjs')).href
  // Node has a flag for a file that may be absent, but then it says on each start that the file is absent.
  const settings = existsSync(join(root, '.env')) ? ['--env-file=.env'] : []
  const flags = [...gatewayFlags, ...settings, '--import', watcher]
  await runInForeground(pinnedNode, [...flags, builtGatewayFile, ...args], { cwd: root })
}
