import { builtGatewayFile, ensureGatewayBuilt } from '../lib/gateway-build.mjs'
import { prepare } from '../lib/prepare.mjs'

/**
 * The gateway as `npm start` runs it, for tests that start it as a process: it is built where its sources changed.
 * @returns The file that Node is to run.
 */
export async function builtGateway(): Promise<string> {
  if (!(await prepare([ensureGatewayBuilt]))) throw new Error('the gateway could not be built; see above')
  return builtGatewayFile
}
