import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import ssh2, { type Connection } from 'ssh2'
import { ALGORITHMS, QUICK_CIPHERS } from '../../../drivers/compute/port/guest-limits.ts'
import { curb, keepKeys } from '../../../drivers/compute/port/ssh-library.ts'
import type { MachineTurns } from '../streams/machine-turns.ts'
import { networkOf } from './address-network.ts'
import { createAskPace } from './ask-pace.ts'
import { type SshConnection, serveConnection } from './connection.ts'
import { createCustomerRooms } from './customer-room.ts'
import { awaitFirstWords, type FirstWords } from './first-words.ts'
import type { GatewaySide, SshLog } from './gateway-side.ts'
import { offerCiphers } from './library-gaps.ts'
import { letSignIn, type SshCustomer } from './sign-in.ts'
import { SSH_LIMITS, type SshLimits } from './ssh-limits.ts'

/** The SSH server of one gateway: one address for all machines, each by its id as the user's name. */
export interface SshServer {
  /** @throws What the system says of an address that cannot be listened on. */
  listen(host: string, port: number): Promise<AddressInfo>
  /** Ends connections whose key, customer or instance is gone, of those that something has changed of. */
  lookAgain(changed: Changed): void
  /** Connections that are open. */
  count(): SshCount
  /** Takes nobody new; connections go on. */
  leave(): void
  /** Takes nobody new, tells everybody why, and ends their connections. */
  shutdown(): void
}

/** An instance, a key, a customer, or anything at all. */
export type Changed = { instanceId: string } | { keyId: string } | { userId: string } | 'anything'

/** Connections that are open: of those who have not signed in, and of customers. */
export interface SshCount {
  strangers: number
  customers: number
}

interface SshServerDeps {
  /** Private keys by which it is known. */
  hostKeys: readonly string[]
  gateway: GatewaySide
  log: SshLog
  /** When what clients send is read. */
  turns: Pick<MachineTurns, 'pace'>
  /** Told whenever it is another. */
  onCount?(count: SshCount): void
  limits?: Partial<SshLimits> | undefined
}

/** Makes the server. Nothing listens yet. */
export function createSshServer(deps: SshServerDeps): SshServer {
  const { gateway, log } = deps
  const limits = { ...SSH_LIMITS, ...deps.limits }
  const strangers = new Map<Socket, string>()
  const customers = new Set<SshConnection>()
  const count = () => ({ strangers: strangers.size, customers: customers.size })
  const roomOf = createCustomerRooms(limits.heldBytesPerCustomerMax)
  const pace = createAskPace({ atOnce: limits.asksAtOnce, perSecond: limits.asksPerSecond })
  const tellCount = () => deps.onCount?.(count())

  const server = createServer({ noDelay: true }, socket => {
    const address = networkOf(socket.remoteAddress ?? '')
    const fromThere = [...strangers.values()].filter(other => other === address).length
    const isFull =
      strangers.size >= limits.strangersMax || strangers.size + customers.size >= limits.connectionsMax
    socket.on('error', () => socket.destroy())
    if (isFull || fromThere >= limits.strangersPerAddressMax) return void socket.destroy()
    meet(socket, address)
  })

  /** Meets somebody whom nobody knows yet. */
  function meet(socket: Socket, address: string): void {
    strangers.set(socket, address)
    tellCount()
    socket.once('close', () => {
      if (strangers.delete(socket)) tellCount()
    })
    const late = setTimeout(() => socket.destroy(), limits.signInMs)
    socket.once('close', () => clearTimeout(late))
    // What clients send is taken in turns as what machines send: decrypting it is work, and so is agreeing on keys.
    const paced = deps.turns.pace(`ssh ${address}`, socket)
    let words: FirstWords | null = null
    // One for each connection, since the library does not say whose socket it has.
    const library = new ssh2.Server(
      {
        hostKeys: [...deps.hostKeys],
        algorithms: ALGORITHMS,
        ident: 'Berth',
        keepaliveInterval: limits.keepAliveMs,
        keepaliveCountMax: limits.keepAlivesMissedMax,
      },
      client => {
        client.on('error', error => log.debug({ err: error }, 'an SSH connection failed'))
        client.on('handshake', () => keepKeys(client))
        curb(client, () => paced.destroy())
        const quick = quickCiphers(words)
        if (quick.length > 0) offerCiphers(client, quick)
        letSignIn({ gateway, limits, log }, client, address, customer => {
          clearTimeout(late)
          strangers.delete(socket)
          paced.off('data', countBytes)
          welcome(client, paced as Socket, customer)
        })
      },
    )
    let bytes = 0
    const countBytes = (piece: Buffer) => {
      bytes += piece.length
      if (bytes > limits.strangerBytesMax) paced.destroy()
    }
    library.injectSocket(paced as Socket)
    paced.on('data', countBytes)
    awaitFirstWords(paced, limits.firstWordsMs, known => {
      words = known
    })
  }

  /** From here on it is known whose connection it is. */
  function welcome(client: Connection, socket: Socket, customer: SshCustomer): void {
    const isFull = ofCustomer(customer.userId).length >= limits.connectionsPerCustomerMax
    const connection = serveConnection({ gateway, limits, log, roomOf, pace }, client, socket, customer)
    customers.add(connection)
    tellCount()
    socket.once('close', () => {
      customers.delete(connection)
      tellCount()
    })
    if (isFull) connection.end('too_many_connections')
    // A key that went just before this connection was known here was looked for in vain.
    else check([connection], checkKey)
  }

  const ofCustomer = (userId: string) => [...customers].filter(one => one.userId === userId)

  /** Ends those whose key or instance is gone. */
  function check(connections: Iterable<SshConnection>, how = checkBoth): void {
    for (const connection of connections) {
      how(connection).catch(error => log.warn({ err: error }, 'an SSH connection could not be checked'))
    }
  }
  async function checkKey(connection: SshConnection): Promise<void> {
    const fate = await gateway.fate(connection.userId, connection.keyId, connection.name)
    if (fate === 'removed') connection.end('key_removed')
    else if (fate === 'not_chosen') connection.end('key_not_chosen')
    else if (fate === 'account_closed') connection.end('account_closed')
    else if (fate === 'account_suspended') connection.end('account_suspended')
  }
  async function checkBoth(connection: SshConnection): Promise<void> {
    await checkKey(connection)
    await connection.checkInstance()
  }

  return {
    async listen(host, port) {
      server.listen({ host, port })
      await once(server, 'listening')
      server.on('error', error => log.warn({ err: error }, 'the SSH server failed'))
      return server.address() as AddressInfo
    },
    lookAgain(changed) {
      if (changed === 'anything') check(customers)
      else if ('instanceId' in changed) check([...customers].filter(one => one.name === changed.instanceId))
      else if ('keyId' in changed) check([...customers].filter(one => one.keyId === changed.keyId))
      else check(ofCustomer(changed.userId))
    },
    count,
    leave: () => void server.close(),
    shutdown() {
      server.close()
      for (const connection of customers) connection.end('gateway_stopping')
      for (const socket of strangers.keys()) socket.destroy()
    },
  }
}

/** Of the ciphers that a client has in both directions, those that are quick. */
function quickCiphers(words: FirstWords | null): string[] {
  return QUICK_CIPHERS.filter(name => words?.ciphersIn.includes(name) && words.ciphersOut.includes(name))
}
