import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Pool } from 'undici'
import { cpuSeconds } from './child-server.ts'

/** Something that chats with the model behind it. */
export interface ModelSide {
  name: string
  origin: string
  /** The processes that do its work, for their processor time. */
  pids(): number[]
  /** Headers by which it knows a caller; others than the last one's where it limits what one may do. */
  credentials(): Record<string, string>
}

/** What calls took: from each question until its whole answer, in ms, and the side's processor time for each, in ms. */
export interface Calls {
  took: number[]
  cpuMs: number
  perSecond: number
}

const PATH = '/v1/chat/completions'
const MESSAGES = [{ role: 'user', content: 'How are you today?' }]
const QUESTION = JSON.stringify({ model: 'bench', max_tokens: 16, messages: MESSAGES })

async function ask(side: ModelSide, pool: Pool): Promise<number> {
  const startedAt = performance.now()
  const { statusCode, body } = await pool.request({
    method: 'POST',
    path: PATH,
    headers: { 'content-type': 'application/json', ...side.credentials() },
    body: QUESTION,
  })
  const text = await body.text()
  if (statusCode !== 200) throw new Error(`${side.name} answered ${statusCode}: ${text.slice(0, 300)}`)
  return performance.now() - startedAt
}

async function counted(side: ModelSide, work: (pool: Pool) => Promise<number[]>): Promise<Calls> {
  const pool = new Pool(side.origin, { connections: 256, pipelining: 1 })
  const cpu = () => side.pids().reduce((sum, pid) => sum + cpuSeconds(pid), 0)
  try {
    const [before, startedAt] = [cpu(), performance.now()]
    const took = await work(pool)
    const seconds = (performance.now() - startedAt) / 1_000
    return { took, cpuMs: ((cpu() - before) * 1_000) / took.length, perSecond: took.length / seconds }
  } finally {
    await pool.close()
  }
}

/** Calls one after the other, or so many at a time, each beginning when one has ended. */
export function callInTurn(side: ModelSide, calls: number, atOnce: number): Promise<Calls> {
  return counted(side, async pool => {
    const took: number[] = []
    let begun = 0
    async function go(): Promise<void> {
      while (begun++ < calls) took.push(await ask(side, pool))
    }
    await Promise.all(Array.from({ length: atOnce }, go))
    return took
  })
}

/** So many calls each second, whether those before have ended or not. */
export function callAtRate(side: ModelSide, perSecond: number, seconds: number): Promise<Calls> {
  return counted(side, async pool => {
    const calls: Promise<number>[] = []
    const startedAt = performance.now()
    while (calls.length < perSecond * seconds) {
      const due = Math.min(
        perSecond * seconds,
        Math.floor(((performance.now() - startedAt) / 1_000) * perSecond),
      )
      while (calls.length < due) calls.push(ask(side, pool))
      await new Promise(done => setTimeout(done, 1))
    }
    return await Promise.all(calls)
  })
}

/** What streams took, in ms: each token from its server until it was here, and the first one from the question on. */
export interface Streams {
  tokens: number[]
  first: number[]
}

export interface StreamsAsked {
  streams: number
  /** Of each stream, and the pause between two. */
  tokens: number
  pauseMs: number
  /** Streams that begin at a time; the next ones when these have their first token. */
  beginAtOnce: number
  /** When every stream has begun and had a token since; they go on after it. */
  onAllOpen?(): Promise<void>
}

/** @throws Error where one ends early or with something else than a stream, or all of them are not through in time. */
export async function openStreams(side: ModelSide, asked: StreamsAsked): Promise<Streams> {
  const seen: Streams = { tokens: [], first: [] }
  const open: Stream[] = []
  try {
    while (open.length < asked.streams) {
      const some = Array.from({ length: Math.min(asked.beginAtOnce, asked.streams - open.length) }, () =>
        openStream(side, asked, seen),
      )
      open.push(...some)
      await Promise.all(some.map(({ begun }) => begun))
    }
    if (asked.onAllOpen) {
      await asked.onAllOpen()
      return seen
    }
    await Promise.all(open.map(({ ended }) => ended))
    return seen
  } finally {
    for (const { socket } of open) socket.destroy()
  }
}

interface Stream {
  socket: Socket
  begun: Promise<void>
  ended: Promise<void>
}

const MARK = /"content": ?"(\d{9,}) /g
const TAIL_CHARS = 400
const STREAM_MS = 120_000

/** Over a plain socket: what a client needs is not to be part of the figure. */
function openStream(side: ModelSide, { tokens, pauseMs }: StreamsAsked, seen: Streams): Stream {
  const { hostname, port, host } = new URL(side.origin)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.setNoDelay(true)
  const body = JSON.stringify({
    ...{ model: 'bench', stream: true, max_tokens: tokens, seed: pauseMs, messages: MESSAGES },
  })
  const headers = {
    ...{ host, 'content-type': 'application/json', 'content-length': String(body.length) },
    ...side.credentials(),
  }
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const startedAt = performance.now()
  socket.write(`POST ${PATH} HTTP/1.1\r\n${head.join('')}\r\n${body}`)
  const begun = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const fail = (why: string) => {
    const error = new Error(`a stream of ${side.name} ${why}`)
    begun.reject(error)
    ended.reject(error)
  }
  // Who waits for one of the two hears of it.
  begun.promise.catch(() => undefined)
  ended.promise.catch(() => undefined)
  const late = setTimeout(() => fail('was not through in time'), STREAM_MS).unref()
  let rest = ''
  let came = 0
  socket.on('data', chunk => {
    const now = process.hrtime.bigint()
    rest += chunk.toString('latin1')
    let end = 0
    for (const mark of rest.matchAll(MARK)) {
      if (came++ === 0) {
        seen.first.push(performance.now() - startedAt)
        begun.resolve()
      } else seen.tokens.push(Number(now - BigInt(mark[1] ?? '0')) / 1e6)
      end = mark.index + mark[0].length
    }
    if (rest.includes('[DONE]', end)) {
      clearTimeout(late)
      if (came === tokens) ended.resolve()
      else fail(`had ${came} tokens of ${tokens}`)
    } else if (came === 0 && !rest.startsWith('HTTP/1.1 200')) fail(`began with ${rest.slice(0, 400)}`)
    rest = rest.slice(Math.max(end, rest.length - TAIL_CHARS))
  })
  socket.on('error', error => fail(error.message))
  socket.on('close', () => fail('was closed'))
  void once(socket, 'close').then(() => clearTimeout(late))
  return { socket, begun: begun.promise, ended: ended.promise }
}
