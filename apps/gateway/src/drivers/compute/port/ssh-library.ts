import { createSecretKey } from 'node:crypto'
import ssh2, { type Client, type Connection } from 'ssh2'

/** What the library has of either end of a connection, and does not offer. */
interface Inside {
  _protocol?: {
    _cipher?: object
    _decipher?: object
    /** Set while keys are exchanged: then nothing else may be sent. */
    _kexinit?: unknown
    /** What is to be sent after that. */
    _queue?: unknown[]
    /** What is done with each message that comes. */
    _handlers?: Partial<Record<string, (protocol: Answering, ...rest: never[]) => void>>
  }
}
interface Answering {
  requestFailure(): void
}

/**
 * The smallest packets that a peer may ask for. RFC 4253 has all take 32,768 bytes at once; small devices take a few thousand.
 * The library makes packets as small as it is told, and for a size of 0 it makes empty ones without an end.
 */
const PACKET_BYTES_MIN = 1_024

/** Where the library keeps the keys that it gives to Node with each packet. */
const KEY_FIELDS = ['_macKey', '_encKey', '_decipherKey']

/**
 * What waits in the library because keys are exchanged, in packets; null while none are. It takes whatever is written then
 * and says at once that it is gone, and how long an exchange takes is up to the client.
 */
export function heldPackets(client: Connection | Client): number | null {
  const protocol = (client as unknown as Inside)._protocol
  return protocol?._kexinit === undefined ? null : (protocol._queue?.length ?? 0)
}

/**
 * Takes from either end of a connection what the library would do for a hostile peer.
 * @param client Of a client: it is on its way to its server.
 * @param hangUp Ends the connection.
 */
export function curb(client: Connection | Client, hangUp: () => void): void {
  const { _handlers: handlers } = (client as unknown as Inside)._protocol ?? {}
  if (!handlers) throw new Error('the library of SSH keeps its handlers elsewhere')
  for (const name of ['CHANNEL_OPEN', 'CHANNEL_OPEN_CONFIRMATION']) {
    const plain = handlers[name] as ((protocol: Answering, info: { packetSize: number }) => void) | undefined
    handlers[name] = (protocol: Answering, info: { packetSize: number }) => {
      if (info.packetSize < PACKET_BYTES_MIN) hangUp()
      else plain?.(protocol, info)
    }
  }
  // Its client has a server prove whatever keys that says it has, as many and as often as it says so, and waits for the
  // answers without a bound. Nobody here asked.
  if (client instanceof ssh2.Client) {
    handlers.GLOBAL_REQUEST = (protocol: Answering, _name: string, isAnswered: boolean) => {
      if (isAnswered) protocol.requestFailure()
    }
  }
}

/** Has the keys of a connection kept as Node wants them: made of bytes anew for each packet, they are a tenth of its work. */
export function keepKeys(client: Connection | Client): void {
  const { _cipher, _decipher } = (client as unknown as Inside)._protocol ?? {}
  for (const side of [_cipher, _decipher] as (Record<string, unknown> | undefined)[]) {
    for (const name of KEY_FIELDS) {
      const key = side?.[name]
      if (side && Buffer.isBuffer(key)) side[name] = createSecretKey(key)
    }
  }
}
