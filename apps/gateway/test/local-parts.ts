import type { GatewayParts } from '../src/compose.ts'
import { modelServersOf } from '../src/drivers/models/model-servers.ts'
import { parseCatalogue } from '../src/platform/config/catalogue.ts'

/**
 * What a gateway in a test's or a benchmark's own process is told of the world: it listens on loopback alone, has no other
 * gateways, no identity provider, no registry and no direct ports.
 */
export const LOCAL_PARTS = {
  identityProviders: [],
  host: '127.0.0.1',
  publicUrl: null,
  internalHost: '127.0.0.1',
  internalPort: 0,
  internalAddress: null,
  serviceHost: 'localhost',
  direct: { host: null, name: null, ports: null },
  sessionIdleDays: 30,
  uploadGbMax: 200,
  trustedProxies: [],
  credentialsKey: null,
  formerCredentialsKeys: [],
  privateRegistries: [],
  meteringMs: 60_000,
  readCatalogue(source) {
    const catalogue = parseCatalogue(source, 'the applied catalogue')
    return { catalogue, servers: modelServersOf(catalogue.models, {}, () => 0) }
  },
} satisfies Partial<GatewayParts>
