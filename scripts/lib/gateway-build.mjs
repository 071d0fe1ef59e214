import { join } from 'node:path'
import { ensureBuilt } from './built.mjs'
import { root } from './paths.mjs'

const GATEWAY = 'apps/gateway'
const CONFIG = 'rolldown.config.mjs'

/** What runs the gateway, once it is built. */
export const builtGatewayFile = join(root, GATEWAY, 'dist/main.mjs')

/**
 * Puts the gateway into a few files, unless they already came from these very sources.
 * @returns {Promise<void>} Rejects with a `CommandError` that carries the build's output.
 */
export function ensureGatewayBuilt() {
  return ensureBuilt({
    label: 'Building the gateway',
    workspace: GATEWAY,
    tool: 'rolldown',
    args: ['--config', CONFIG],
    inputs: [`${GATEWAY}/src`, `${GATEWAY}/${CONFIG}`, 'packages/contract', 'package-lock.json'],
  })
}
