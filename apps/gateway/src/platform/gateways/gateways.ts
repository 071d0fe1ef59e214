import { networkInterfaces } from 'node:os'
import type { Duplex } from 'node:stream'
import type { Database } from '../database/database.ts'
import type { Logger } from '../log.ts'
import { createLoop } from '../loop.ts'
import { createAddressCheck } from './address-check.ts'
import { createChannelClient, GatewayAway } from './channel-client.ts'
import { type ChannelHandler, createChannelServer } from './channel-server.ts'
import { createRegistry, type OtherGateway, SEEN_MS } from './registry.ts'

/** Other gateways of this installation, and streams to them. */
export interface Gateways {
  /** This process among them. */
  readonly selfId: string
  /**
   * Opens a stream to another gateway: one hop, over which back pressure and half-closing go both ways.
   * @param kind What is asked for; the other side serves it by that name.
   * @param request Becomes JSON of at most 16 KiB.
   * @returns A stream that says by `close` that it is over, also after an error.
   * @throws GatewayAway when that gateway does not run or cannot be reached.
   * @throws ApiError with the code that it refused with.
   */
  open(gatewayId: string, kind: string, request: unknown): Promise<Duplex>
  /** Serves streams of that kind to other gateways. Each kind once, before `start`. */
  serve(kind: string, handler: ChannelHandler): void
  /** Streams open now, both ways. */
  streamCount(): number
  /** Begins to listen, and says to the others that this gateway is here. */
  start(): Promise<void>
  /**
   * Tells the others that it is about to go: they open nothing new. It goes on saying that it lives, since what it has
   * begun is its own until it is over.
   * @returns Once no stream from another gateway is open any more.
   */
  leave(): Promise<void>
  /** Takes back what a gateway said of itself that is known to be dead: nobody opens to it any more. */
  forget(gatewayId: string): Promise<void>
  /** Removes what gateways that died long ago said of themselves. */
  purge(): Promise<void>
  /** Cuts what is open, and says that this gateway is gone. */
  close(): Promise<void>
}

interface GatewaysOptions {
  db: Database
  /** This process among the gateways: an id that no other one has or had. */
  selfId: string
  log: Pick<Logger, 'warn' | 'error' | 'debug'>
  /** The installation's key for its gateways: 32 bytes that all of them have. */
  key: Uint8Array
  /** Interface to listen on, its port (0: any that is free), and the address to tell the others; null: found out. */
  host: string
  port: number
  address: string | null
}

/** What a gateway is asked to see that it is there. */
const GREETING = 'greeting'

/** Several tries fit into the time after which a gateway is taken for dead. */
const RENEW_MS = SEEN_MS / 5

/** Makes this gateway one among others. Nothing listens yet. */
export function createGateways({ db, selfId, log, key, host, port, address }: GatewaysOptions): Gateways {
  const handlers = new Map<string, ChannelHandler>()
  const registry = createRegistry({ db, selfId })
  const server = createChannelServer({ selfId, key, handlers, log })
  const client = createChannelClient({ selfId, key })
  let announced = ''

  const renewal = createLoop({
    name: 'gateway',
    pauseMs: RENEW_MS,
    log,
    async run() {
      await registry.renew(announced)
      await cutDead()
    },
  })
  const check = createLoop({ name: 'gateway.addresses', pauseMs: SEEN_MS, log, run: () => checkAddresses() })
  handlers.set(GREETING, async (_, accept) => void accept().end())
  const checkAddresses = createAddressCheck({ others: registry.others, answers, log })

  /** Whoever refuses what is asked has proven to be the one that was meant, too. */
  async function answers({ id, address: at }: OtherGateway): Promise<boolean> {
    try {
      const stream = await client.open({ gatewayId: id, address: at }, GREETING, null)
      stream.destroy()
      return true
    } catch (error) {
      return !(error instanceof GatewayAway)
    }
  }

  /** A computer that lost its power hangs up on nobody; its row runs out. */
  async function cutDead(): Promise<void> {
    for (const dead of await registry.deadAmong([...server.peers(), ...client.peers()])) {
      server.cut(dead)
      client.cut(dead)
    }
  }

  return {
    selfId,
    async open(gatewayId, kind, request) {
      const at = await registry.addressOf(gatewayId)
      if (at === null) throw new GatewayAway(new Error(`the gateway ${gatewayId} does not run any more`))
      return await client.open({ gatewayId, address: at }, kind, request)
    },
    serve(kind, handler) {
      if (handlers.has(kind)) throw new Error(`Streams of the kind ${kind} are served already.`)
      handlers.set(kind, handler)
    },
    streamCount: () => server.count() + client.count(),
    async start() {
      const actualPort = await server.listen(host, port)
      announced = address ?? `${nameOf(host)}:${actualPort}`
      await registry.renew(announced)
      renewal.start()
      check.start()
    },
    async leave() {
      announced = ''
      await check.stop()
      await registry
        .renew(announced)
        .catch(error => log.warn({ err: error }, 'others still open streams to this gateway'))
      await server.emptied()
    },
    forget: registry.withdraw,
    purge: registry.purge,
    async close() {
      await Promise.all([renewal.stop(), check.stop()])
      // Without the database the row runs out by itself.
      await registry
        .withdraw(selfId)
        .catch(error => log.warn({ err: error }, 'this gateway stays listed for a while'))
      client.close()
      await server.close()
    },
  }
}

/** How others reach an interface: an address of this computer's own where it listens on all of them. */
function nameOf(host: string): string {
  if (host.includes(':') && host !== '::') return `[${host}]`
  if (host !== '0.0.0.0' && host !== '::') return host
  const addresses = Object.values(networkInterfaces()).flatMap(list => list ?? [])
  const outer = addresses.find(({ family, internal }) => family === 'IPv4' && !internal)
  return outer?.address ?? '127.0.0.1'
}
