import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { readLines } from './qmp.ts'

/** Bounds of what a guest may make of a conversation with it. */
export interface GuestAgentLimits {
  /** For one answer, also of a slow guest that writes first what its programs have not yet written. */
  answerMs: number
  /** How long file systems stay frozen where nobody has ended the machine. */
  frozenMs: number
  /** What is read in one conversation, with what the guest had said before anybody asked. */
  bytesMax: number
}

export const GUEST_AGENT_LIMITS: GuestAgentLimits = {
  answerMs: 5_000,
  frozenMs: 10_000,
  bytesMax: 1024 * 1024,
}

/** The longest answer, some fifty interfaces with their addresses; two go into what a gateway reads of an answer. */
const LINE_BYTES_MAX = 30 * 1024
/** What may wait to be read by a guest that has the port open and does not read. */
const UNREAD_BYTES_MAX = 4 * 1024
const THAW_TRIES_MAX = 3
/** Sent first, it ends whatever an agent has read half; what comes behind it in the answer is not older than the question. */
const DELIMITER = 0xff
/** What a delimiter is as text. */
const DELIMITER_READ = '\uFFFD'

interface Command {
  execute: string
  arguments?: Record<string, unknown>
}

/** What a guest answered to two questions, as it was sent; null where it did not. */
export interface GuestAnswers {
  os: unknown
  interfaces: unknown
}

/**
 * Talks to the agent of a guest (`qemu-ga`), if one is there. Nothing is read while nobody asks, one thing is asked at a
 * time, and each within bounds of time and bytes: what is at the other end is whatever the customer likes. A command is
 * only sent to an agent that has just answered, so that none waits in the line for one that comes later.
 */
export function createGuestAgent(stream: Duplex, limits = GUEST_AGENT_LIMITS) {
  let isOpen = false
  let next = 1
  let bytes = 0
  let turn: Promise<unknown> = Promise.resolve()
  let asked: Promise<GuestAnswers | null> | null = null
  /** Whoever waits for a line. */
  let waiting: { take(line: string): void; fail(error: Error): void } | null = null

  stream.on('error', () => stream.destroy())
  stream.on('close', () => waiting?.fail(new Error('the guest’s agent is gone')))
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > limits.bytesMax) waiting?.fail(new Error('the guest’s agent says too much'))
  })
  readLines(stream, line => waiting?.take(line), LINE_BYTES_MAX)
  stream.pause()

  function write(text: string | Buffer): void {
    if (stream.writableLength > UNREAD_BYTES_MAX) throw new Error('the guest’s agent does not read')
    stream.write(text)
  }

  /** Waits for the first line in which something is found. */
  function hear<T>(find: (line: string) => { found: T } | null): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const settle = (result: () => void) => {
        clearTimeout(timer)
        waiting = null
        stream.pause()
        result()
      }
      const fail = (error: Error) => settle(() => reject(error))
      const timer = setTimeout(() => fail(new Error('the guest’s agent does not answer')), limits.answerMs)
      waiting = {
        fail,
        take(line) {
          const heard = find(line)
          if (heard) settle(() => resolve(heard.found))
        },
      }
      stream.resume()
    })
  }

  /** Finds out whether an agent is there now, and leaves nothing older on the line. */
  async function meet(): Promise<void> {
    if (!isOpen) throw new Error('the guest has no agent')
    bytes = 0
    const id = next++
    const hello: Command = { execute: 'guest-sync-delimited', arguments: { id } }
    write(Buffer.concat([Buffer.of(DELIMITER), Buffer.from(`${JSON.stringify(hello)}\n`)]))
    await hear(line => (answerOf(line)?.return === id ? { found: null } : null))
  }

  /** Asks an agent that has been met. */
  async function ask(command: Command): Promise<unknown> {
    write(`${JSON.stringify(command)}\n`)
    const answer = await hear(line => ({ found: answerOf(line) }))
    if (!answer || !('return' in answer)) throw new Error(`the guest’s agent refuses ${command.execute}`)
    return answer.return
  }

  /** Does something while nobody else talks. */
  function alone<T>(work: () => Promise<T>): Promise<T> {
    const done = turn.then(work)
    turn = done.catch(() => undefined)
    return done
  }

  async function thaw(tries = 1): Promise<void> {
    await sleep(limits.frozenMs)
    await alone(async () => {
      await meet()
      await ask({ execute: 'guest-fsfreeze-thaw' })
    }).catch(() => (tries < THAW_TRIES_MAX ? thaw(tries + 1) : undefined))
  }

  return {
    /** The hypervisor says whether a program of the guest has the port open. */
    setOpen(open: boolean): void {
      isOpen = open
      if (!open) waiting?.fail(new Error('the guest’s agent is gone'))
    },

    /** Whether something in the guest listens to what an agent is asked. */
    isThere: (): boolean => isOpen,

    /** What a guest says of itself; null where no agent answers. Those who ask at the same time hear the same. */
    facts(): Promise<GuestAnswers | null> {
      asked ??= alone(async () => {
        await meet()
        const orNull = (execute: string) => ask({ execute }).catch(() => null)
        return {
          os: await orNull('guest-get-osinfo'),
          interfaces: await orNull('guest-network-get-interfaces'),
        }
      })
        .catch(() => null)
        .finally(() => {
          asked = null
        })
      return Promise.race([asked, sleep(limits.answerMs, null, { ref: false })])
    },

    /** Has the guest shut itself down. Gives whether an agent took that on, which says no more than that. */
    shutDown: (): Promise<boolean> =>
      alone(async () => {
        await meet()
        write(`${JSON.stringify({ execute: 'guest-shutdown', arguments: { mode: 'powerdown' } })}\n`)
        return true
      }).catch(() => false),

    /**
     * Has the guest write to its disk what its programs have written, and nothing more from then on: for a machine that is
     * about to lose its power. Where it does not, its file systems thaw again. Gives how many there are, by its word.
     */
    freeze: (): Promise<number> =>
      alone(async () => {
        await meet()
        void thaw()
        const frozen = await ask({ execute: 'guest-fsfreeze-freeze' })
        return typeof frozen === 'number' ? frozen : 0
      }).catch(() => 0),
  }
}

/** What a line of an agent says; null where that is no answer. */
function answerOf(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line.slice(line.lastIndexOf(DELIMITER_READ) + 1))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}
