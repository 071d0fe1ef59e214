import { createSecretKey } from 'node:crypto'
import type { Client, Connection } from 'ssh2'

/** What the library has of either end of a connection, and does not offer. */
interface Inside {
  _protocol?: {
    _cipher?: object
    _decipher?: object
    /** Set while keys are exchanged: then nothing else may be sent. */
    _kexinit?: unknown
    /** What is to be sent after that. */
    _queue?: unknown[]
  }
}

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
