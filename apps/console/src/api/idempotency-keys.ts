/** The part of `sessionStorage` that is used. */
export type KeyStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>

/** Keys of spending calls whose outcome is not known yet. */
export interface IdempotencyKeys {
  /**
   * The key for a call: the same one for the same content until it has settled, also after a reload.
   * @param operation The call's stable name.
   * @param content What is sent, as text. Only a fingerprint of it is kept.
   */
  take(operation: string, content: string): string
  /**
   * Says that a call has its final answer, so that the next one is a new one.
   * @param operation The call's stable name.
   * @param key The key that the call carried.
   */
  settle(operation: string, key: string): void
}

const PREFIX = 'berth.idempotency.'

/** Open keys of one operation; beyond it the oldest is forgotten. More calls than these are never under way at once. */
const OPEN_KEYS_MAX = 100

/** A key, and the fingerprint of what it was taken for. */
type OpenKey = readonly [key: string, print: string]

/**
 * Idempotency keys that survive a reload and turn over only when their call has settled (B3).
 * Other content is another intent and takes a key of its own: the gateway would refuse another's for it. Several may be
 * open at a time, as when many instances are started together; each keeps its own.
 * @param storage Lives as long as the tab; when it cannot be written the keys live in memory.
 * @param newKey Makes a key of 8 to 200 visible ASCII characters.
 */
export function createIdempotencyKeys(
  storage: KeyStorage,
  newKey: () => string = randomKey,
): IdempotencyKeys {
  const memory = new Map<string, string>()
  const read = (name: string) => {
    try {
      return storage.getItem(name) ?? memory.get(name) ?? null
    } catch {
      return memory.get(name) ?? null
    }
  }
  const write = (name: string, value: string) => {
    memory.set(name, value)
    try {
      storage.setItem(name, value)
    } catch {
      // A full or switched off storage costs the survival of a reload, not the payment.
    }
  }
  const remove = (name: string) => {
    memory.delete(name)
    try {
      storage.removeItem(name)
    } catch {
      // As above.
    }
  }

  const open = (operation: string): OpenKey[] =>
    (read(PREFIX + operation) ?? '').split('\n').flatMap(line => {
      const [key, print] = line.split(' ')
      return key && print ? [[key, print] as const] : []
    })
  const keep = (operation: string, keys: readonly OpenKey[]) => {
    if (keys.length === 0) return remove(PREFIX + operation)
    const kept = keys.slice(-OPEN_KEYS_MAX)
    write(PREFIX + operation, kept.map(one => one.join(' ')).join('\n'))
  }

  return {
    take(operation, content) {
      const print = fingerprint(content)
      const keys = open(operation)
      const known = keys.find(([, kept]) => kept === print)
      if (known) return known[0]
      const fresh = newKey()
      keep(operation, [...keys, [fresh, print]])
      return fresh
    },
    settle(operation, key) {
      keep(
        operation,
        open(operation).filter(([kept]) => kept !== key),
      )
    },
  }
}

/** 128 random bits as hex. `crypto.randomUUID` is missing where a page is served without TLS. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}

/** Tells contents apart without keeping them: two 32-bit FNV-1a hashes from different starts. */
function fingerprint(content: string): string {
  const hash = (start: number) => {
    let value = start
    for (let index = 0; index < content.length; index += 1) {
      value = Math.imul(value ^ content.charCodeAt(index), 0x01000193)
    }
    return (value >>> 0).toString(36)
  }
  return `${hash(0x811c9dc5)}${hash(0x9747b28c)}${content.length.toString(36)}`
}
