import type { Duplex } from 'node:stream'
import ssh2, { type ClientChannel } from 'ssh2'
import { GUEST_SSH, type GuestAccess, GuestFault } from './guest-access.ts'
import { ALGORITHMS, CHANNEL_HELD_BYTES_MAX, type GuestLimits } from './guest-limits.ts'
import { guestProgram } from './guest-program.ts'
import { guestWay } from './guest-way.ts'
import { curb, keepKeys } from './ssh-library.ts'
import { createOutlet } from './ssh-outlet.ts'
import type { AskedProgram, StartedProgram } from './started-program.ts'

/** What a virtual machine is given. */
const HOST_KEY_TYPE = 'ssh-ed25519'

/** What the library says of a channel that was not opened; it gives a reason where the server did. */
type Refusal = Error & { reason?: unknown }
type Opened = (error?: Error, channel?: ClientChannel) => void

/** A connection to the SSH server of a virtual machine, by which programs are run there. */
export interface Guest {
  /** Runs a program. @throws GuestFault */
  start(asked: AskedProgram): Promise<StartedProgram>
  /** Opens a port of the machine's loopback. @throws GuestFault, also where nothing listens there. */
  connect(port: number): Promise<Duplex>
  /** Whether it is over. */
  isGone(): boolean
  close(): void
}

/**
 * Signs in to the SSH server of a virtual machine. The server is its customer's, and so is all that it says: it has so
 * long for each answer, and so many bytes before it has let us in; what is past a window ends it.
 * @param stream To its port; it belongs to this connection from here on.
 * @throws GuestFault
 */
export async function openGuest(stream: Duplex, access: GuestAccess, limits: GuestLimits): Promise<Guest> {
  const client = new ssh2.Client()
  const channels = new Set<ClientChannel>()
  let fault = new GuestFault('guest_unsure', 'the machine’s SSH server hung up')
  const isGone = () => stream.destroyed
  const ready = new Promise<void>((resolve, reject) => {
    client.once('ready', resolve)
    client.on('error', error => {
      fault = faultOf(error, fault)
      stream.destroy()
    })
    client.once('end', () => stream.destroy())
    stream.once('close', () => reject(fault))
  })
  client.on('handshake', () => keepKeys(client))
  const late = setTimeout(() => stream.destroy(), limits.guestAnswerMs)
  let bytes = 0
  const countBytes = (piece: Buffer) => {
    bytes += piece.length
    if (bytes > limits.guestHelloBytesMax) stream.destroy()
  }
  try {
    client.connect({
      sock: stream as never,
      username: GUEST_SSH.user,
      privateKey: access.privateKey,
      authHandler: ['publickey'],
      algorithms: { ...ALGORITHMS, serverHostKey: [HOST_KEY_TYPE] },
      ident: 'Berth',
      readyTimeout: 0,
      keepaliveInterval: limits.keepAliveMs,
      keepaliveCountMax: limits.keepAlivesMissedMax,
      hostVerifier: (key: Buffer) => {
        const isKnown = key.toString('base64') === access.hostKey.split(' ')[1]
        if (!isKnown) fault = new GuestFault('guest_host_key', 'the machine’s SSH server has another key')
        return isKnown
      },
    })
    curb(client, () => stream.destroy())
    stream.on('data', countBytes)
    await ready
  } catch (error) {
    stream.destroy()
    throw error
  } finally {
    clearTimeout(late)
    stream.off('data', countBytes)
  }

  const outlet = createOutlet(client, stream, limits)
  stream.on('data', () => {
    const held = [...channels].flatMap(one => [one.readableLength, one.stderr.readableLength])
    if (Math.max(0, ...held) > CHANNEL_HELD_BYTES_MAX + limits.pastWindowBytesMax) stream.destroy()
  })

  /** What becomes of channels that are being opened when the connection ends: by one listener, for they may be many. */
  const opening = new Set<() => void>()
  stream.once('close', () => {
    for (const gone of opening) gone()
  })

  function open({ what, env, pty }: AskedProgram, done: Opened): void {
    const { cols = 0, rows = 0, modes = {} } = pty ?? {}
    const terminal = pty && { cols, rows, width: 0, height: 0, term: env.TERM ?? '', modes }
    const { TERM: _, ...others } = env
    if ('subsystem' in what) client.subsys(what.subsystem, done)
    else if (what.command === null) client.shell(terminal ?? false, { env: others }, done)
    else client.exec(what.command, { env: others, ...(terminal && { pty: terminal }) }, done)
  }

  /**
   * Has the server open a channel, in time.
   * @param how.take Makes something of it at once: what comes on it may have come already.
   * @param how.refused What a refusal means.
   */
  function openChannel<T>(how: {
    open(done: Opened): void
    take(channel: ClientChannel): T
    refused(error: Refusal | undefined): Error
  }): Promise<T> {
    return new Promise((resolve, reject) => {
      const gone = () => reject(fault)
      if (isGone()) return gone()
      const slow = setTimeout(() => stream.destroy(), limits.guestAnswerMs)
      opening.add(gone)
      how.open((error, channel) => {
        clearTimeout(slow)
        opening.delete(gone)
        if (!channel) return reject(how.refused(error))
        channels.add(channel)
        channel.once('close', () => channels.delete(channel))
        resolve(how.take(channel))
      })
    })
  }

  return {
    start: asked =>
      openChannel({
        open: done => open(asked, done),
        take: channel => guestProgram(channel, outlet, isGone),
        refused: error => refusalOf(asked, error),
      }),
    connect: port =>
      openChannel({
        open: done => client.forwardOut('127.0.0.1', 0, 'localhost', port, done),
        take: channel => guestWay(channel, outlet),
        refused: () => new GuestFault('guest_unsure', `nothing listens on ${port}`),
      }),
    isGone,
    close: () => {
      client.end()
      stream.destroy()
    },
  }
}

/** The library's own error; what is known already says more than what comes of it. */
function faultOf(error: Error & { level?: string }, known: GuestFault): GuestFault {
  if (known.code !== 'guest_unsure') return known
  if (error.level === 'client-authentication') return new GuestFault('guest_key_refused', error.message)
  if (/host key format/.test(error.message)) return new GuestFault('guest_host_key', error.message)
  return new GuestFault('guest_unsure', error.message)
}

/** Why a server does not run something; the library tells one that opens no channel from one that refuses what it is for. */
function refusalOf({ what }: AskedProgram, error: Refusal | undefined): GuestFault {
  const why = error?.message ?? 'the machine’s SSH server refused'
  if (error?.reason !== undefined) return new GuestFault('guest_full', why)
  return new GuestFault('subsystem' in what ? 'no_subsystem' : 'guest_unsure', why)
}
