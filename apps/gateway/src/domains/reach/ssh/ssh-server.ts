import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Language } from '@berth/contract/limits'
import type { Logger } from 'pino'
import ssh2, { type Connection } from 'ssh2'
import type { OpenDatabase } from '../../../platform/database/open-database.ts'
import type { CountCall } from '../../../platform/http/rate-counts.ts'
import { INSTANCE_CHANNEL, type Instances } from '../../instances/instances.ts'
import { SSH_KEY_CHANNEL, type SshKeys } from '../../ssh-keys/ssh-keys.ts'
import type { MachineWays } from '../machine-ways.ts'
import type { MachineTurns } from '../streams/machine-turns.ts'
import type { StreamLimits } from '../streams/stream-limits.ts'
import type { Uses } from '../uses.ts'
import { networkOf } from './address-network.ts'
import type { SshAttempts } from './attempts.ts'
import { type SshConnection, serveConnection } from './connection.ts'
import { createHostKeys, type HostKey } from './host-keys.ts'
import { keepKeys } from './library-gaps.ts'
import { letSignIn, type SshCustomer } from './sign-in.ts'
import { SSH_LIMITS, type SshLimits } from './ssh-limits.ts'

/** The SSH server of one gateway: one address for all machines, each by its id as the user's name. */
export interface SshServer {
  /** By which it is known, whatever gateway answers. */
  readonly hostKeys: readonly HostKey[]
  /** Where it listens; null where it does not. */
  address(): AddressInfo | null
  /** @throws What the system says of an address that cannot be listened on. */
  listen(host: string, port: number): Promise<void>
  /** Begins to end connections whose key or instance is gone. @returns The way to stop. */
  watch(): Promise<() => void>
  /** Connections that are open: for metrics and tests. */
  count(): { strangers: number; customers: number }
  shutdown(): void
}

/** What an SSH server is made of beside what all ways into machines need. */
export interface SshParts {
  /** 32 bytes that all gateways have. */
  rootKey: Uint8Array
  sshKeys: Pick<SshKeys, 'holder' | 'fate' | 'list'>
  /** The language of a customer. */
  languageOf(userId: string): Promise<Language>
  /** Counts keys that were refused, over all gateways. */
  countRefusal: CountCall
}

interface SshServerDeps extends Omit<SshParts, 'sshKeys'> {
  sshKeys: Pick<SshKeys, 'holder' | 'fate'>
  attempts: Pick<SshAttempts, 'note'>
  log: Logger
  listen: OpenDatabase['listen']
  ways: Pick<MachineWays, 'connect' | 'run'>
  uses: Pick<Uses, 'hold'>
  instances: Pick<Instances, 'findOwn' | 'findRunning' | 'ownerOf'>
  /** When what clients send is read. */
  turns: Pick<MachineTurns, 'pace'>
  limits?: Partial<SshLimits> | undefined
}

/** What clients may take of this process's time, those behind one address and all of them. */
export const SSH_TURNS = { shareOfOne: 0.4, shareOfAll: 0.5 } satisfies Partial<StreamLimits>

/** What is as fast as it is safe; the rest is slow, old, or makes much of little. */
const ALGORITHMS = {
  kex: ['curve25519-sha256', 'curve25519-sha256@libssh.org', 'ecdh-sha2-nistp256', 'ecdh-sha2-nistp384'],
  cipher: ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'aes128-ctr', 'aes256-ctr'],
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com', 'hmac-sha2-256', 'hmac-sha2-512'],
  compress: ['none'],
} satisfies ssh2.Algorithms

/** Makes the server. Nothing listens yet. */
export function createSshServer(deps: SshServerDeps): SshServer {
  const { log, sshKeys } = deps
  const limits = { ...SSH_LIMITS, ...deps.limits }
  const hostKeys = createHostKeys(deps.rootKey)
  const strangers = new Map<Socket, string>()
  const customers = new Set<SshConnection>()
  const signInDeps = {
    sshKeys,
    ownerOf: deps.instances.ownerOf,
    countRefusal: deps.countRefusal,
    attempts: deps.attempts,
    limits,
    log,
  }

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
    socket.once('close', () => strangers.delete(socket))
    const late = setTimeout(() => socket.destroy(), limits.signInMs)
    socket.once('close', () => clearTimeout(late))
    // What clients send is taken in turns as what machines send: decrypting it is work, and so is agreeing on keys.
    const paced = deps.turns.pace(`ssh ${address}`, socket)
    // One for each connection, since the library does not say whose socket it has.
    const library = new ssh2.Server(
      {
        hostKeys: hostKeys.map(({ key }) => ({ key })),
        algorithms: ALGORITHMS,
        ident: 'Berth',
        keepaliveInterval: limits.keepAliveMs,
        keepaliveCountMax: limits.keepAlivesMissedMax,
      },
      client => {
        client.on('error', error => log.debug({ err: error }, 'an SSH connection failed'))
        client.on('handshake', () => keepKeys(client))
        letSignIn(signInDeps, client, address, customer => {
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
  }

  /** From here on it is known whose connection it is. */
  function welcome(client: Connection, socket: Socket, customer: SshCustomer): void {
    const isFull = ofCustomer(customer.userId).length >= limits.connectionsPerCustomerMax
    const connection = serveConnection({ ...deps, limits }, client, socket, customer, deps.languageOf)
    customers.add(connection)
    socket.once('close', () => customers.delete(connection))
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
    const fate = await sshKeys.fate(connection.userId, connection.keyId)
    if (fate === 'removed') connection.end('key_removed')
    else if (fate === 'account_closed') connection.end('account_closed')
  }
  async function checkBoth(connection: SshConnection): Promise<void> {
    await checkKey(connection)
    await connection.checkInstance()
  }

  return {
    hostKeys,
    address: () => {
      const address = server.listening ? server.address() : null
      return typeof address === 'object' ? address : null
    },
    async listen(host, port) {
      server.listen({ host, port })
      await once(server, 'listening')
      server.on('error', error => log.warn({ err: error }, 'the SSH server failed'))
    },
    async watch() {
      const all = () => check(customers)
      const stops = await Promise.all([
        deps.listen(INSTANCE_CHANNEL, id => check([...customers].filter(one => one.name === id)), all),
        deps.listen(SSH_KEY_CHANNEL, id => check([...customers].filter(one => one.keyId === id))),
      ])
      return () => {
        for (const stop of stops) stop()
      }
    },
    count: () => ({ strangers: strangers.size, customers: customers.size }),
    shutdown() {
      server.close()
      for (const connection of customers) connection.end('gateway_stopping')
      for (const socket of strangers.keys()) socket.destroy()
    },
  }
}
