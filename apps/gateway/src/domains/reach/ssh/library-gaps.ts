import type { Connection, ServerChannel } from 'ssh2'

/** What the library has and does not offer: it can refuse without a reason alone, and shows a banner to everybody. */
interface Inside {
  _protocol?: {
    channelOpenFail(remote: number, code: number, why: string): void
    channelOpenConfirm(remote: number, local: number, windowBytes: number, packetBytes: number): void
    channelWindowAdjust(remote: number, bytes: number): void
    _packetRW?: {
      write: { allocStart: number; alloc(bytes: number): Buffer; finalize(packet: Buffer): Buffer }
    }
    /** What is offered when keys are exchanged. */
    _offer?: Offer
    _cipher?: { encrypt(packet: Buffer): void }
    /** Set while keys are exchanged: then nothing else may be sent. */
    _kexinit?: unknown
  }
}

/** What it has of a channel. */
interface ChannelInside {
  incoming: { window: number }
  outgoing: { id: number; state: 'open' | 'eof' | 'closing' | 'closed' }
  _client: Inside
  _readableState: { highWaterMark: number }
}

type Names<What> = { cipher: What; mac: What; compress: What; lang: What }
interface Offer {
  lists: { kex: Entry; serverHostKey: Entry; cs: Names<Entry>; sc: Names<Entry> }
}
interface Entry {
  buffer: Buffer
}
type MakeOffer = new (of: {
  kex: Buffer
  serverHostKey: Buffer
  cs: Names<Buffer>
  sc: Names<Buffer>
}) => Offer

const USERAUTH_BANNER = 53
/** RFC 4254, 5.1. */
export const PROHIBITED = 1
export const CONNECT_FAILED = 2

/**
 * Refuses to open a channel, and says why: OpenSSH shows it.
 * @param reject The library's own refusal, which has no words.
 */
export function rejectWith(client: Connection, reject: () => void, code: number, why: string): void {
  const protocol = (client as unknown as Inside)._protocol
  const plain = protocol?.channelOpenFail
  if (!protocol || !plain) {
    reject()
    return
  }
  protocol.channelOpenFail = remote => plain.call(protocol, remote, code, why)
  try {
    reject()
  } finally {
    protocol.channelOpenFail = plain
  }
}

/** Has clients told of so long a window when they open a channel: the library's own is two megabytes, for each of them. */
export function firstWindow(client: Connection, bytes: number): void {
  const protocol = (client as unknown as Inside)._protocol
  const plain = protocol?.channelOpenConfirm
  if (!protocol || !plain) return
  protocol.channelOpenConfirm = (remote, local, _, packetBytes) =>
    plain.call(protocol, remote, local, bytes, packetBytes)
}

/**
 * Takes a channel's window off the library, which opens it again whatever is unread.
 * @returns How to give the channel's reader what came, or null at the end; and how to open the window by so many bytes. What
 * comes and what is wanted is told by the library and by Node to `push` and `_read`, for whoever puts their own there.
 */
export function ownWindow(channel: ServerChannel): {
  give(piece: Buffer | null): void
  adjust(bytes: number): void
} {
  const inside = channel as unknown as ChannelInside
  // It has nothing to add to what is without end.
  inside.incoming.window = Number.POSITIVE_INFINITY
  inside._readableState.highWaterMark = 1
  const give = channel.push.bind(channel)
  return {
    give,
    adjust(bytes) {
      const { id, state } = inside.outgoing
      if (state === 'open' || state === 'eof') inside._client._protocol?.channelWindowAdjust(id, bytes)
    },
  }
}

/** Shows a line to whoever has not signed in yet (RFC 4252, 5.4). */
export function showBanner(client: Connection, line: string): void {
  const protocol = (client as unknown as Inside)._protocol
  if (!protocol?._packetRW || !protocol._cipher || protocol._kexinit !== undefined) return
  const { write } = protocol._packetRW
  const text = Buffer.from(`${line}\r\n`)
  const bytes = 1 + 4 + text.length + 4
  let at = write.allocStart
  const packet = write.alloc(bytes)
  packet.fill(0, at, at + bytes)
  at = packet.writeUInt8(USERAUTH_BANNER, at)
  at = packet.writeUInt32BE(text.length, at)
  text.copy(packet, at)
  protocol._cipher.encrypt(write.finalize(packet))
}

/**
 * Offers one client fewer ciphers than all others.
 * @param client Has greeted, and keys are not exchanged yet.
 */
export function offerCiphers(client: Connection, ciphers: readonly string[]): void {
  const protocol = (client as unknown as Inside)._protocol
  const offer = protocol?._offer
  if (!protocol || !offer) return
  const { kex, serverHostKey, cs, sc } = offer.lists
  const cipher = Buffer.from(ciphers.join(','))
  const other = ({ mac, compress, lang }: Names<Entry>) => ({
    cipher,
    mac: mac.buffer,
    compress: compress.buffer,
    lang: lang.buffer,
  })
  protocol._offer = new (offer.constructor as MakeOffer)({
    kex: kex.buffer,
    serverHostKey: serverHostKey.buffer,
    cs: other(cs),
    sc: other(sc),
  })
}
