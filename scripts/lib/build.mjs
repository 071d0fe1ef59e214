import { ensureConsoleBuilt } from './console-build.mjs'
import { ensureGatewayBuilt } from './gateway-build.mjs'
import { ensureInstalled } from './install.mjs'
import { prepare } from './prepare.mjs'

/**
 * Installs what is missing and builds what changed.
 * @returns {Promise<void>} The exit code is 1 where that failed; standard error then says why.
 */
export async function build() {
  await prepare([ensureInstalled, ensureConsoleBuilt, ensureGatewayBuilt])
}
