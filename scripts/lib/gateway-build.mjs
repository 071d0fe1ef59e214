import { join } from 'node:path'
import { ensureBuilt } from './built.mjs'
import { root } from './paths.mjs'

const GATEWAY = 'apps/gateway'
const CONFIG = 'rolldown.config.mjs'

/** What runs the gateway, once it is built. */
export const builtGatewayFile = join(root, GATEWAY, 'dist/main.mjs')

/**
 * Node's flags for it. Most of what a gateway has in memory is used once and forgotten. Left alone, Node 24 keeps 130 MB for
 * what is new, and tidies what is old up when it has become several times as much: posting an hour of 100,000 stretches took 180 MB
 * that nothing was in any more (decision 0132). New things have 2 × 8 MB, and old ones may grow by half before they are tidied
 * up, for the first time at 96 MB.
 */
export const gatewayFlags = [
  '--max-semi-space-size=8',
  '--initial-old-space-size=96',
  '--heap-growing-percent=50',
]

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
