import { createHash, timingSafeEqual } from 'node:crypto'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Logger } from 'pino'
import { Client, type ClientChannel } from 'ssh2'
import { ComputeError } from '../port/compute-error.ts'

export interface SshPlace {
  host: string
  port: number
  user: string
  /** PEM or OpenSSH's own form, without a passphrase. */
  private_key: string
  /** `SHA256:…`, as `ssh-keygen -l` prints it: a server with another key is not spoken to. */
  host_key: string
  /** Where the engine listens on that computer. */
  socket_path: string
}

const CONNECT_TIMEOUT_MS = 10_000
const KEEP_ALIVE_MS = 15_000
const KEEP_ALIVES_MISSED_MAX = 3
/** What RFC 4254 gives as the reason when the other side cannot connect to where it was asked to. */
const CONNECT_FAILED = 2

export interface SshLink {
  /** Carries HTTP to the engine's socket. */
  agent: Agent
  dial(host: string, port: number): Promise<Duplex | NodeJS.ErrnoException>
  close(): void
}

/**
 * One SSH connection to an engine's computer, over which requests go to the engine's socket and streams to its
 * machines' ports. Opened when it is first needed, and again after it broke. The server must allow forwarding
 * (`AllowTcpForwarding`, `AllowStreamLocalForwarding`: both are its default), and the user must be allowed to use
 * the socket; no program is run there.
 */
export function createSshLink(place: SshPlace, log: Logger): SshLink {
  let current: Promise<Client> | null = null

  function client(): Promise<Client> {
    if (current) return current
    const opening: Promise<Client> = open(place, log, () => {
      if (current === opening) current = null
    })
    current = opening
    opening.catch(() => {
      if (current === opening) current = null
    })
    return opening
  }

  return {
    agent: new StreamAgent(async () => {
      const opened = await client()
      return asSocket(
        await new Promise<ClientChannel>((resolve, reject) => {
          opened.openssh_forwardOutStreamLocal(place.socket_path, (error, channel) => {
            if (error) reject(unavailable(place, error))
            else resolve(channel)
          })
        }),
      )
    }),
    async dial(host, port) {
      const opened = await client()
      return new Promise<Duplex | NodeJS.ErrnoException>(resolve => {
        opened.forwardOut('127.0.0.1', 0, host, port, (error, channel) => {
          if (!error) return resolve(asSocket(channel))
          const { reason } = error as { reason?: unknown }
          resolve(Object.assign(error, reason === CONNECT_FAILED ? { code: 'ECONNREFUSED' } : {}))
        })
      })
    },
    close() {
      current?.then(opened => opened.end()).catch(() => undefined)
      current = null
    },
  }
}

function open(place: SshPlace, log: Logger, onClose: () => void): Promise<Client> {
  return new Promise((resolve, reject) => {
    const client = new Client()
    const sock = connect({ host: place.host, port: place.port, noDelay: true })
    // A gateway that is done need not wait for it.
    sock.unref()
    client.once('ready', () => resolve(client))
    client.on('error', error => {
      log.debug({ err: error, host: place.host }, 'the SSH connection to an engine failed')
      reject(unavailable(place, error))
    })
    client.once('close', () => {
      reject(unavailable(place, new Error('the connection was closed')))
      onClose()
    })
    client.connect({
      sock,
      username: place.user,
      privateKey: place.private_key,
      readyTimeout: CONNECT_TIMEOUT_MS,
      keepaliveInterval: KEEP_ALIVE_MS,
      keepaliveCountMax: KEEP_ALIVES_MISSED_MAX,
      hostVerifier: (key: Buffer) => isKey(key, place.host_key),
    })
  })
}

/** Whether a host's key is the one of that fingerprint. */
function isKey(key: Buffer, fingerprint: string): boolean {
  const digest = createHash('sha256').update(key).digest()
  const wanted = Buffer.from(fingerprint.replace(/^SHA256:/, ''), 'base64')
  return wanted.length === digest.length && timingSafeEqual(wanted, digest)
}

function unavailable(place: SshPlace, cause: Error): ComputeError {
  const where = `${place.user}@${place.host}, port ${place.port}`
  return new ComputeError('engine_unavailable', `SSH to ${where}: ${cause.message}`, { cause })
}

/** A channel with what HTTP clients ask of sockets, and which has no meaning for it. */
function asSocket(channel: ClientChannel): Duplex {
  channel.on('error', () => channel.destroy())
  const nothing = () => channel
  return Object.assign(channel, {
    setNoDelay: nothing,
    setKeepAlive: nothing,
    setTimeout: nothing,
    ref: nothing,
    unref: nothing,
  })
}

/** An HTTP agent whose connections are streams of our own making. */
class StreamAgent extends Agent {
  readonly #open: () => Promise<Duplex>
  constructor(open: () => Promise<Duplex>) {
    super({ keepAlive: false })
    this.#open = open
  }

  override createConnection(
    _options: unknown,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    this.#open().then(
      stream => callback?.(null, stream),
      // Node's own declaration wants a stream beside an error, too.
      (error: Error) => callback?.(error, undefined as unknown as Duplex),
    )
  }
}
