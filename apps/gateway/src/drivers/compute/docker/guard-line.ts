import type { Duplex } from 'node:stream'
import type Docker from 'dockerode'
import { ComputeError } from '../port/compute-error.ts'
import { createDemuxer } from './docker-exec.ts'
import { GUARD_SCRIPT } from './guard-script.ts'

const ANSWER_TIMEOUT_MS = 30_000
/** Of what a program of the engine's computer complained of. */
const ANSWER_LENGTH_MAX = 400

/** A way to ask the guard of a cloud again and again: by one process in it that stays, since each new one takes long. */
export interface GuardLine {
  /**
   * Has the guard put its rules, and returns when they stand. One question at a time.
   * @throws ComputeError with what it complains of; or what dockerode throws.
   */
  ask(): Promise<void>
  /** Ends the process in the guard; the next question begins another one. */
  close(): void
}

/** A process in the guard that listens; it ends with the stream, and so with the gateway. */
interface Listener {
  stream: Duplex
  next(): Promise<string>
}

/** Makes the way to a guard; nothing is opened before it is asked. */
export function createGuardLine(container: Docker.Container): GuardLine {
  let listener: Listener | null = null

  async function open(): Promise<Listener> {
    const listening = await container.exec({
      AttachStdin: true,
      AttachStdout: true,
      Cmd: ['/bin/sh', '-c', GUARD_SCRIPT, 'guard', 'answer'],
    })
    const stream = await listening.start({ hijack: true, stdin: true })
    const opened = listenTo(stream)
    stream.on('close', () => {
      if (listener === opened) listener = null
    })
    return opened
  }

  /** Null where the line broke. */
  async function askBy({ stream, next }: Listener): Promise<string | null> {
    const answer = next()
    if (stream.writable) stream.write('\n')
    return answer.catch(() => null)
  }

  return {
    async ask() {
      // One that was open may be of a guard that has gone meanwhile.
      let answer = listener && (await askBy(listener))
      if (answer === null) {
        listener = await open()
        answer = await askBy(listener)
      }
      if (answer === 'stands') return
      const why = answer === null ? 'the guard does not answer' : answer.trim()
      throw new ComputeError('failed', `the engine’s computer does not take packet rules: ${why}`)
    },
    close: () => listener?.stream.destroy(),
  }
}

function listenTo(stream: Duplex): Listener {
  let text = ''
  let take = (_line: string) => {}
  stream.on(
    'data',
    createDemuxer((_, piece) => {
      text = (text + piece.toString()).slice(-ANSWER_LENGTH_MAX)
      const end = text.indexOf('\n')
      if (end < 0) return
      take(text.slice(0, end))
      text = text.slice(end + 1)
    }),
  )
  stream.on('error', () => stream.destroy())
  stream.on('end', () => stream.destroy())
  return {
    stream,
    next: () =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => stream.destroy(), ANSWER_TIMEOUT_MS)
        const broken = () => {
          clearTimeout(timer)
          reject(new Error('the line to the guard broke'))
        }
        if (stream.destroyed) return broken()
        stream.once('close', broken)
        take = line => {
          clearTimeout(timer)
          stream.off('close', broken)
          resolve(line)
        }
      }),
  }
}
