import type { Duplex } from 'node:stream'

/** What a client says it can do before it is asked: the ciphers that it knows, to the server and from it. */
export interface FirstWords {
  ciphersIn: string[]
  ciphersOut: string[]
}

/** More than any client says of itself. */
const WORDS_BYTES_MAX = 16 * 1024
const LINE_END = 10
const LENGTH_BYTES = 4
const PADDING_BYTES = 1
const KEXINIT = 20
const COOKIE_BYTES = 16
/** The names of ciphers come behind those of key exchanges and of host keys (RFC 4253, 7.1). */
const LISTS_BEFORE = 2

/**
 * Has whoever reads a connection wait for a client's first words, its greeting and what it can do, and then get them at
 * once: a server that knows them can choose among ciphers, and else the client's order does.
 * @param socket Its reader is the next that listens to `data`; nothing comes in that very moment.
 * @param waitMs Some clients wait themselves to be told first, and far ones would for long: then nothing is known.
 * @param onKnown Called once, before the reader gets anything; null where nothing is known.
 */
export function awaitFirstWords(
  socket: Duplex,
  waitMs: number,
  onKnown: (words: FirstWords | null) => void,
): void {
  let held = Buffer.alloc(0)
  let reader: (piece: Buffer) => void = () => undefined
  const go = (words: FirstWords | null) => {
    clearTimeout(late)
    socket.off('data', hold)
    socket.on('data', reader)
    onKnown(words)
    if (held.length > 0) reader(held)
  }
  const hold = (piece: Buffer) => {
    held = Buffer.concat([held, piece])
    const words = wordsIn(held)
    if (words !== 'more') go(words)
    else if (held.length > WORDS_BYTES_MAX) go(null)
  }
  const late = setTimeout(go, waitMs, null)
  socket.once('close', () => clearTimeout(late))
  const onListener = (event: string, listener: typeof reader) => {
    if (event !== 'data') return
    socket.off('newListener', onListener)
    // It is told before it is one, and nothing is read before this is over.
    queueMicrotask(() => {
      reader = listener
      socket.off('data', reader)
      socket.on('data', hold)
    })
  }
  socket.on('newListener', onListener)
}

/** @returns `more` where they have not all come; null where what came is none. */
function wordsIn(bytes: Buffer): FirstWords | null | 'more' {
  const start = bytes.indexOf(LINE_END) + 1
  if (start === 0 || bytes.length < start + LENGTH_BYTES) return 'more'
  const length = bytes.readUInt32BE(start)
  if (length > WORDS_BYTES_MAX) return null
  const packet = bytes.subarray(start + LENGTH_BYTES, start + LENGTH_BYTES + length)
  if (packet.length < length) return 'more'
  if (packet[PADDING_BYTES] !== KEXINIT) return null
  const lists: string[][] = []
  let at = PADDING_BYTES + 1 + COOKIE_BYTES
  while (lists.length < LISTS_BEFORE + 2) {
    if (at + LENGTH_BYTES > packet.length) return null
    const end = at + LENGTH_BYTES + packet.readUInt32BE(at)
    if (end > packet.length) return null
    lists.push(packet.toString('latin1', at + LENGTH_BYTES, end).split(','))
    at = end
  }
  const [ciphersIn = [], ciphersOut = []] = lists.slice(LISTS_BEFORE)
  return { ciphersIn, ciphersOut }
}
