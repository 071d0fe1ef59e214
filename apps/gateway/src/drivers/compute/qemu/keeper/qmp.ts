import type { Duplex } from 'node:stream'

/** The longest message that is gathered. */
const LINE_BYTES_MAX = 1024 * 1024
const ANSWER_TIMEOUT_MS = 10_000

interface Message {
  QMP?: unknown
  return?: unknown
  error?: { desc?: string }
  event?: string
  data?: Record<string, unknown>
  id?: number
}

/** A conversation with a hypervisor: QMP, one JSON value a line. */
export interface Qmp {
  /** Has the hypervisor do something. Fails with what it says, or where it says nothing for ten seconds. */
  execute(command: string, args?: Record<string, unknown>): Promise<unknown>
  /** A command in the words that are made for people; gives what is shown of it. */
  tell(line: string): Promise<string>
}

/** Begins the conversation over a stream, and returns once the hypervisor takes commands. */
export async function openQmp(
  stream: Duplex,
  onEvent: (name: string, data: Record<string, unknown>) => void,
): Promise<Qmp> {
  let next = 0
  const waiting = new Map<number, (message: Message) => void>()
  let greeted = () => {}
  const greeting = new Promise<void>(resolve => {
    greeted = resolve
  })
  readLines(stream, line => {
    const message = JSON.parse(line) as Message
    if (message.QMP) greeted()
    else if (message.event) onEvent(message.event, message.data ?? {})
    else if (message.id !== undefined) waiting.get(message.id)?.(message)
  })

  function execute(command: string, args?: Record<string, unknown>): Promise<unknown> {
    const id = next++
    return new Promise((resolve, reject) => {
      const settle = (result: () => void) => {
        clearTimeout(timer)
        waiting.delete(id)
        result()
      }
      const timer = setTimeout(
        () => settle(() => reject(new Error(`the hypervisor does not answer ${command}`))),
        ANSWER_TIMEOUT_MS,
      )
      waiting.set(id, message =>
        settle(() => {
          if (message.error) reject(new Error(`${command}: ${message.error.desc ?? 'refused'}`))
          else resolve(message.return)
        }),
      )
      stream.write(`${JSON.stringify({ execute: command, id, ...(args && { arguments: args }) })}\n`)
    })
  }

  await greeting
  await execute('qmp_capabilities')
  return {
    execute,
    tell: async line => String(await execute('human-monitor-command', { 'command-line': line })),
  }
}

/**
 * Cuts what comes into lines.
 * @param onLine Is given each without its end. What is longer than a megabyte is dropped up to its end.
 */
export function readLines(stream: Duplex, onLine: (line: string) => void, bytesMax = LINE_BYTES_MAX): void {
  let pieces: Buffer[] = []
  let bytes = 0
  const take = (piece: Buffer) => {
    bytes += piece.length
    if (bytes <= bytesMax) pieces.push(piece)
    else pieces = []
  }
  stream.on('data', (chunk: Buffer) => {
    let from = 0
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      take(chunk.subarray(from, at))
      const line = bytes <= bytesMax ? Buffer.concat(pieces).toString() : null
      pieces = []
      bytes = 0
      from = at + 1
      if (line !== null && line.trim() !== '') onLine(line)
    }
    take(chunk.subarray(from))
  })
}
