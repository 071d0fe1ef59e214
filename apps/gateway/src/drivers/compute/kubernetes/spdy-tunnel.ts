import { Duplex } from 'node:stream'

/**
 * As much of SPDY/3.1 as a port of a pod is forwarded by. Headers are compressed by no more than the format asks for, so that no
 * dictionary is needed.
 */
const VERSION = 0x8003
const TYPE = { synStream: 1, synReply: 2, rstStream: 3, ping: 6, goAway: 7 } as const
const FLAG_FIN = 1
const HEAD_BYTES = 8
const FRAME_BYTES_MAX = 16 * 1024
/** What a peer may announce: a frame is as long as 24 bits say, and none that is sent here is nearly so. */
const READ_BYTES_MAX = 1024 * 1024
const ERROR_BYTES_MAX = 4_096
const FLUSH = Buffer.of(0, 0, 0, 0xff, 0xff)

export interface Tunnel {
  /** The connection to the port. */
  stream: Duplex
  /** Called once: with what the other side says is wrong, or null when it is over in good order. */
  onTrouble(listener: (said: string | null) => void): void
}

/**
 * Opens the pair of streams by which one connection to a port is made.
 * @param line What carries the frames; nothing was read from it yet.
 */
export function openTunnel(line: Duplex, port: number): Tunnel {
  const ERROR_ID = 1
  const DATA_ID = 3
  let trouble = ''
  let hear: (said: string | null) => void = () => undefined
  let isTold = false
  const tell = (said: string | null) => {
    if (isTold) return
    isTold = true
    hear(said)
  }
  const finish = () => {
    if (!stream.readableEnded) stream.push(null)
  }

  const stream = new Duplex({
    allowHalfOpen: true,
    read: () => void line.resume(),
    write(chunk: Buffer, _encoding, done) {
      let at = 0
      const next = (error?: Error | null) => {
        if (error || at >= chunk.length) return done(error)
        const piece = chunk.subarray(at, at + FRAME_BYTES_MAX)
        at += piece.length
        line.write(dataFrame(DATA_ID, 0, piece), next)
      }
      next()
    },
    final: done => void line.write(dataFrame(DATA_ID, FLAG_FIN, Buffer.alloc(0)), done),
    destroy(error, done) {
      line.destroy()
      done(error)
    },
  })

  let held: Buffer = Buffer.alloc(0)
  line.on('data', (chunk: Buffer) => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    while (held.length >= HEAD_BYTES) {
      const length = held.readUIntBE(5, 3)
      if (length > READ_BYTES_MAX) return void stream.destroy(new Error('a frame is too long'))
      if (held.length < HEAD_BYTES + length) return
      take(held.subarray(0, HEAD_BYTES), held.subarray(HEAD_BYTES, HEAD_BYTES + length))
      held = held.subarray(HEAD_BYTES + length)
    }
  })
  line.on('error', () => line.destroy())
  line.on('close', () => {
    tell(trouble || 'the way to it broke')
    finish()
    stream.destroy()
  })

  function take(head: Buffer, payload: Buffer): void {
    const isFin = (head.readUInt8(4) & FLAG_FIN) !== 0
    if ((head.readUInt8(0) & 0x80) !== 0) {
      const type = head.readUInt16BE(2)
      if (type === TYPE.ping) line.write(Buffer.concat([head, payload]))
      else if (type === TYPE.rstStream || type === TYPE.goAway) {
        tell(trouble || 'it was reset')
        finish()
      }
      return
    }
    const id = head.readUInt32BE(0)
    if (id === ERROR_ID) {
      if (trouble.length < ERROR_BYTES_MAX) trouble += payload.toString()
      if (payload.length > 0 || isFin) tell(trouble || null)
      if (trouble !== '') finish()
      return
    }
    if (id !== DATA_ID) return
    if (payload.length > 0 && !stream.push(payload)) line.pause()
    if (isFin) finish()
  }

  const about = { port: String(port), requestid: '0' }
  line.write(synFrame(ERROR_ID, true, { ...about, streamtype: 'error' }))
  line.write(dataFrame(ERROR_ID, FLAG_FIN, Buffer.alloc(0)))
  line.write(synFrame(DATA_ID, false, { ...about, streamtype: 'data' }))
  return {
    stream,
    onTrouble: listener => {
      hear = listener
    },
  }
}

function dataFrame(id: number, flags: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUInt32BE(id, 0)
  head.writeUInt8(flags, 4)
  head.writeUIntBE(payload.length, 5, 3)
  return Buffer.concat([head, payload])
}

/** @param isFirst Of its line: what is compressed begins there. */
function synFrame(id: number, isFirst: boolean, headers: Record<string, string>): Buffer {
  const pairs = Object.entries(headers)
  const block = Buffer.concat([
    uint32(pairs.length),
    ...pairs.flat().flatMap(text => [uint32(Buffer.byteLength(text)), Buffer.from(text)]),
  ])
  // One block of deflate that is stored as it is, with its length twice, and an empty one, by which a reader hands it on.
  const stored = Buffer.alloc(5)
  stored.writeUInt16LE(block.length, 1)
  stored.writeUInt16LE(~block.length & 0xffff, 3)
  const packed = Buffer.concat([...(isFirst ? [Buffer.of(0x78, 0x01)] : []), stored, block, FLUSH])
  const payload = Buffer.concat([uint32(id), uint32(0), Buffer.alloc(2), packed])
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUInt16BE(VERSION, 0)
  head.writeUInt16BE(TYPE.synStream, 2)
  head.writeUIntBE(payload.length, 5, 3)
  return Buffer.concat([head, payload])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value, 0)
  return bytes
}
