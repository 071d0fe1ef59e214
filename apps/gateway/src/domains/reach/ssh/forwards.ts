import type { Duplex } from 'node:stream'
import type { Connection, ServerChannel, TcpipRequestInfo } from 'ssh2'
import type { Outlet } from '../../../drivers/compute/port/ssh-outlet.ts'
import { isLoopback } from '../../../platform/http/hosts.ts'
import { carry } from '../../../platform/streams/carry.ts'
import { CONNECT_FAILED, PROHIBITED, rejectWith } from './library-gaps.ts'

/** Ways to ports of an instance that are open over one connection. */
export interface SshForwards {
  closeAll(): void
}

const PORT_MAX = 65_535

interface ForwardDeps {
  outlet: Outlet
  /** Bounds what a channel holds. */
  bound(channel: ServerChannel): void
  countMax: number
  /** Opens a port of the instance; what it throws is told by `wordsOf`. */
  connect(port: number): Promise<Duplex>
  words: { otherHost(): string; tooMany(): string; noSuchPort(): string; failed(error: unknown): string }
}

/**
 * Serves what `-L` and `-D` open: ports of the instance's own loopback and nothing else, since a server between two
 * networks is asked for the other one first of all.
 */
export function serveForwards(client: Connection, deps: ForwardDeps): SshForwards {
  const { words } = deps
  const channels = new Set<ServerChannel>()
  const streams = new Set<Duplex>()
  // What is on its way into a machine is for nobody then.
  client.once('close', () => {
    for (const stream of streams) stream.destroy()
  })
  let opening = 0

  async function open(port: number, accept: () => ServerChannel, reject: () => void): Promise<void> {
    opening++
    try {
      const stream = await deps.connect(port)
      const channel = accept() as ServerChannel | undefined
      // A client that left meanwhile has no channel.
      if (!channel) return void stream.on('error', () => undefined).destroy()
      deps.bound(channel)
      channels.add(channel)
      channel.once('close', () => channels.delete(channel))
      streams.add(stream)
      stream.once('close', () => streams.delete(stream))
      join(channel, stream, deps.outlet)
    } catch (error) {
      rejectWith(client, reject, CONNECT_FAILED, words.failed(error))
    } finally {
      opening--
    }
  }

  client.on('tcpip', (accept, reject, { destIP, destPort }: TcpipRequestInfo) => {
    if (!isLoopback(destIP)) rejectWith(client, reject, PROHIBITED, words.otherHost())
    else if (!isPort(destPort)) rejectWith(client, reject, CONNECT_FAILED, words.noSuchPort())
    else if (channels.size + opening >= deps.countMax) rejectWith(client, reject, PROHIBITED, words.tooMany())
    else void open(destPort, accept, reject)
  })
  return {
    closeAll: () => {
      for (const channel of channels) channel.end()
    },
  }
}

/** Whether a number is one: clients say any of 32 bits. */
function isPort(number: number): boolean {
  return number >= 1 && number <= PORT_MAX
}

/** Carries both ways; each side ends its own, and either that closes ends both. */
function join(channel: ServerChannel, stream: Duplex, outlet: Outlet): void {
  stream.on('error', () => stream.destroy())
  channel.on('error', () => channel.destroy())
  carry(channel, stream)
  let pieces: Buffer[] = []
  let ended = false
  let isClosed = false
  let isWriting = false
  const flush = () => {
    if (isWriting) return
    if (pieces.length === 0) {
      // What the other direction still carries goes on.
      if (isClosed) channel.end()
      else if (ended) channel.eof()
      return
    }
    isWriting = true
    stream.pause()
    const bytes = Buffer.concat(pieces)
    pieces = []
    channel.write(bytes, () => {
      isWriting = false
      outlet.whenRoom(() => {
        stream.resume()
        flush()
      })
    })
  }
  stream.on('data', (piece: Buffer) => {
    if (pieces.push(piece) === 1) process.nextTick(flush)
  })
  stream.once('end', () => {
    ended = true
    flush()
  })
  stream.once('close', () => {
    isClosed = true
    flush()
  })
  channel.once('close', () => {
    // Whoever has said all closes at once, while the last of it is on its way.
    if (stream.writableEnded && !stream.writableFinished) stream.once('finish', () => stream.destroy())
    else stream.destroy()
  })
}
