import { type Duplex, duplexPair } from 'node:stream'

/** A serial line that echoes what is typed, to everybody who is on it. */
export interface FakeSerial {
  open(): Duplex
  /** The machine has ended. */
  hangUp(): void
}

/** Makes the serial line of one machine. */
export function createFakeSerial(): FakeSerial {
  const ends = new Set<Duplex>()
  return {
    open() {
      const [line, far] = duplexPair()
      ends.add(far)
      far.on('close', () => ends.delete(far))
      far.on('end', () => far.end())
      far.on('data', bytes => {
        for (const end of ends) end.write(bytes)
      })
      return line
    },
    hangUp() {
      for (const end of ends) end.end()
      ends.clear()
    },
  }
}
