import { createApiKey } from '@berth/contract/api-keys'
import type { CallInput } from '@berth/contract/call'
import OpenAI, { type ClientOptions } from 'openai'
import type { GatewayParts } from '../src/compose.ts'
import { modelServersOf } from '../src/drivers/models/model-servers.ts'
import type { ModelServer } from '../src/drivers/models/port.ts'
import type { CatalogueModel } from '../src/platform/config/catalogue.ts'
import { at, hostedModel } from './hosted-models.ts'
import { type ModelServerDouble, startModelServer } from './model-server.ts'
import { shippedCatalogue } from './shipped-catalogue.ts'
import { startGateway, type TestGateway } from './start-gateway.ts'

/** A customer who calls models. */
export interface ModelCustomer {
  userId: string
  token: string
  email: string
  keyId: string
  key: string
  /** An official client with that key, which tries nothing again unless it is told to. */
  client(options?: ClientOptions): OpenAI
}

/** A gateway with models whose tokens cost whole micro-units, and the servers that answer for them. */
export interface ModelGateway {
  gateway: TestGateway
  /** Answers for `one`, and first for `two`. */
  server: ModelServerDouble
  /** Answers for `two` where the first one does not. */
  spare: ModelServerDouble
  /** A new customer with credit and a key. */
  customer(cents?: number, key?: Partial<CallInput<typeof createApiKey>['body']>): Promise<ModelCustomer>
  /** One more gateway over the same database. */
  another(parts?: Partial<GatewayParts>): Promise<TestGateway>
  stop(): Promise<void>
}

/** Tokens that an answer may have. */
export const ANSWER_MAX = 100

interface ModelGatewayOptions extends NonNullable<Parameters<typeof startGateway>[0]> {
  /** Models besides `one` and `two`. */
  more?: (servers: Pick<ModelGateway, 'server' | 'spare'>) => CatalogueModel[]
  /** Answers for those of them that are local. */
  local?: ModelServer
}

/** @param options Parts of the gateway to be other than usual, and further models. */
export async function startModelGateway({
  more = () => [],
  local,
  ...overrides
}: ModelGatewayOptions = {}): Promise<ModelGateway> {
  const [server, spare] = await Promise.all([startModelServer(), startModelServer()])
  const plain = overrides.catalogue ?? shippedCatalogue()
  const answered = (id: string, by: ModelServerDouble[]) =>
    hostedModel(id, { output_tokens_max: ANSWER_MAX, servers: by.map(at) })
  const models = [
    ...plain.models,
    ...[answered('one', [server]), answered('two', [server, spare])],
    ...more({ server, spare }),
  ]
  const parts = {
    ...overrides,
    catalogue: { ...plain, models },
    modelServers: modelServersOf(
      models,
      { TEST_KEY: 'their-key' },
      () => Math.floor(Date.now() / 1_000),
      local ?? null,
    ),
  }
  const gateway = await startGateway(parts)
  return {
    gateway,
    server,
    spare,
    async customer(cents = 100, limits = {}) {
      const { userId, token, email } = await gateway.signUp()
      if (cents > 0) await gateway.grant(userId, cents)
      const made = await gateway.data(createApiKey, { body: { name: 'test', ...limits } }, { token })
      return {
        userId,
        token,
        email,
        keyId: made.id,
        key: made.key,
        client: (options = {}) =>
          new OpenAI({ apiKey: made.key, baseURL: `${gateway.origin}/v1`, maxRetries: 0, ...options }),
      }
    },
    another: (own = {}) =>
      startGateway({
        ...{ ...parts, callsFolder: null, ...own },
        database: { ...gateway.database, close: async () => {} },
      }),
    async stop() {
      await gateway.stop()
      await Promise.all([server.close(), spare.close()])
    },
  }
}

/** A question to a model that answers. */
export const QUESTION = { model: 'one', messages: [{ role: 'user' as const, content: 'How are you?' }] }
