/** Reads the fields of an SSH key, which come one behind the other (RFC 4251, 5). Every method throws where one ends early. */
export interface WireReader {
  /** Bytes behind their length. */
  bytes(): Buffer
  /** The same as a text of ASCII. */
  text(): string
  /** A positive whole number in its one shortest form, without the leading zero that tells it from a negative one. */
  positive(): Buffer
  /** Whether nothing is left. */
  isDone(): boolean
}

/** What the bytes say is no key. */
export class WireError extends Error {}

/**
 * @param blob The decoded middle part of a public key's line.
 */
export function readWire(blob: Buffer): WireReader {
  let position = 0

  function bytes(): Buffer {
    if (blob.length - position < 4) throw new WireError('a length is cut off')
    const length = blob.readUInt32BE(position)
    const start = position + 4
    if (length > blob.length - start) throw new WireError('a field is cut off')
    position = start + length
    return blob.subarray(start, position)
  }

  return {
    bytes,
    text() {
      const field = bytes()
      if (field.some(byte => byte < 0x20 || byte > 0x7e)) throw new WireError('a text holds more than ASCII')
      return field.toString('latin1')
    },
    positive() {
      const field = bytes()
      const first = field[0]
      if (first === undefined || first >= 0x80) throw new WireError('a number is not positive')
      if (first !== 0) return field
      const second = field[1]
      if (second === undefined || second < 0x80) throw new WireError('a number is not in its shortest form')
      return field.subarray(1)
    },
    isDone: () => position === blob.length,
  }
}
