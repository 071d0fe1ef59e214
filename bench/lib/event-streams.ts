import { readFileSync } from 'node:fs'
import { connect } from 'node:net'

/** One of many streams of events that are held open. */
export interface EventStream {
  /** When a text has come on it, by the clock of `performance`. */
  hears(text: string): Promise<number>
  /** The whole event in which a text comes. */
  whole(text: string): Promise<string>
  close(): void
}

/**
 * Opens a stream on a connection of its own, over a plain socket: what a client needs is not to be part of the figure.
 * @param from The address of this computer that it comes from.
 * @returns Once the first event has come.
 * @throws Error with what came instead.
 */
export function openEventStream(url: string, from: string, token: string): Promise<EventStream> {
  const { hostname, port, host, pathname } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), localAddress: from })
  socket.setNoDelay(true)
  socket.write(
    `GET ${pathname} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\naccept: text/event-stream\r\n\r\n`,
  )
  return new Promise((resolve, reject) => {
    let wanted: { bytes: Buffer; heard: (chunk: Buffer) => void } | null = null
    const waitFor = (text: string) =>
      new Promise<Buffer>(heard => {
        wanted = { bytes: Buffer.from(text), heard }
      })
    let begun = ''
    const stream: EventStream = {
      hears: async text => {
        await waitFor(text)
        return performance.now()
      },
      // Between the lengths that frame a piece of the answer.
      whole: async text => /data: .*\n\n/.exec(String(await waitFor(text)))?.[0] ?? '',
      close: () => socket.destroy(),
    }
    socket.on('error', reject)
    socket.on('close', () => reject(new Error(`a stream ended: ${begun}`)))
    socket.on('data', chunk => {
      if (wanted?.bytes && chunk.includes(wanted.bytes)) {
        const { heard } = wanted
        wanted = null
        heard(chunk)
      }
      if (begun.includes('data: ')) return
      begun += String(chunk)
      if (!begun.startsWith('HTTP/1.1 200')) reject(new Error(begun))
      else if (begun.includes('data: ')) resolve(stream)
    })
  })
}

/** What a process holds of the computer's memory, in bytes; what it shares with others is not counted. Linux only. */
export function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1]) * 1_024
}
