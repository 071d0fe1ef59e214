import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { S3_STATES } from '@berth/contract/volume-s3'
import type { Logger } from 'pino'
import * as z from 'zod'
import { encodeAnswer, readAnswer } from '../../../drivers/compute/port/answers.ts'
import type { Gateways } from '../../../platform/gateways/gateways.ts'
import { ApiError } from '../../../platform/http/api-error.ts'
import { READ_AHEAD } from '../../../platform/read-ahead.ts'
import { joinStreams } from '../../../platform/streams/join-streams.ts'
import { HOP_HEAD_BYTES, type HopSockets } from './words.ts'

/** The kind of streams between gateways that lead to S3 servers. */
const KIND = 's3'
/** It may have to ask an engine. */
const ANSWER_MS = 15_000
/** The process beside says at once which gateway it wants, and for whom. */
const ASK_MS = 5_000
const GONE = { code: 'engine_unavailable', message: 'the gateway that reaches it went away' } as const

const request = z.discriminatedUnion('wants', [
  /** Requests of customers, as they came: whoever serves them checks them as any other. */
  z.object({ wants: z.literal('server'), user_id: z.string() }),
  z.object({ wants: z.literal('place'), user_id: z.string(), volume_id: z.string() }),
])
const farPlace = z.object({ state: z.enum(S3_STATES), why: z.string() })
/** How a volume is served by the gateway that reaches it. */
export type FarPlace = z.infer<typeof farPlace>

interface S3HopsDeps {
  gateways: Pick<Gateways, 'open' | 'serve'>
  /** Has what comes on a stream of somebody's read in turns. */
  pace(of: string, stream: Duplex): Duplex
  /** How a volume is served here. @throws ApiError `not_found`. */
  placeHere(userId: string, volumeId: string): Promise<FarPlace>
  log: Logger
}

/**
 * One hop of S3 requests, to the gateway that reaches the volume. The servers are processes beside their gateways, and the
 * channel between gateways is the gateways' own: so bytes of a hop pass both gateways, in turns as those of machines do, and
 * are signed and checked at the end that serves them.
 */
export function createS3Hops({ gateways, pace, placeHere, log }: S3HopsDeps) {
  let open: { server: Server; folder: string; sockets: HopSockets } | null = null

  gateways.serve(KIND, async (sent, accept) => {
    const asked = request.parse(sent)
    if (asked.wants === 'place') {
      const place = await placeHere(asked.user_id, asked.volume_id)
      accept().end(encodeAnswer(place))
      return
    }
    if (!open) throw new ApiError('unavailable')
    const socket = await enter(open.sockets.asked)
    carryFor(asked.user_id, accept(), socket)
  })

  /** Carries both ways, so that no customer's bytes take the thread from everybody else. */
  function carryFor(userId: string, one: Duplex, other: Duplex): void {
    joinStreams(pace(userId, one), pace(userId, other))
  }

  /** Takes a request of the process beside to the gateway that it names. */
  async function leave(socket: Socket): Promise<void> {
    try {
      const { gatewayId, userId } = await readHead(socket)
      carryFor(userId, await gateways.open(gatewayId, KIND, { wants: 'server', user_id: userId }), socket)
    } catch (error) {
      log.debug({ err: error }, 'a gateway that reaches a volume is not reached')
      socket.destroy()
    }
  }

  return {
    /** Begins to take requests to others. @returns Where, and where they are to be served. */
    async open(): Promise<HopSockets> {
      if (open) return open.sockets
      // Nobody else may enter it.
      const folder = mkdtempSync(join(tmpdir(), 'berth-s3-hops-'))
      const sockets = { asks: join(folder, 'asks'), asked: join(folder, 'asked') }
      const server = createServer({ allowHalfOpen: true, ...READ_AHEAD }, socket => void leave(socket))
      server.unref().listen(sockets.asks)
      await once(server, 'listening')
      open = { server, folder, sockets }
      return sockets
    },

    /** How another gateway serves a volume. @throws ApiError or ComputeError where it does not say. */
    async placeAt(gatewayId: string, userId: string, volumeId: string): Promise<FarPlace> {
      const stream = await gateways.open(gatewayId, KIND, {
        wants: 'place',
        user_id: userId,
        volume_id: volumeId,
      })
      try {
        return farPlace.parse(await readAnswer(stream, ANSWER_MS, GONE))
      } finally {
        stream.destroy()
      }
    },

    close(): void {
      if (!open) return
      open.server.close()
      rmSync(open.folder, { recursive: true, force: true })
      open = null
    },
  }
}

/** @throws ApiError `unavailable`: the server does not run, or is being started again. */
function enter(path: string): Promise<Socket> {
  const entered = Promise.withResolvers<Socket>()
  const socket = connect({ path, allowHalfOpen: true, ...READ_AHEAD })
  socket.once('connect', () => entered.resolve(socket))
  socket.on('error', cause => {
    socket.destroy()
    entered.reject(new ApiError('unavailable', { cause }))
  })
  return entered.promise
}

/** What the process beside says before the request. */
function readHead(socket: Socket): Promise<{ gatewayId: string; userId: string }> {
  const read = Promise.withResolvers<{ gatewayId: string; userId: string }>()
  const timer = setTimeout(() => read.reject(new Error('it did not say which gateway')), ASK_MS)
  const look = () => {
    const bytes = socket.read(HOP_HEAD_BYTES) as Buffer | null
    if (bytes?.length !== HOP_HEAD_BYTES) return
    const head = bytes.toString('latin1')
    const middle = HOP_HEAD_BYTES / 2
    read.resolve({ gatewayId: head.slice(0, middle), userId: head.slice(middle) })
  }
  const fail = () => read.reject(new Error('it hung up'))
  socket.on('readable', look).once('end', fail)
  socket.on('error', fail)
  return read.promise.finally(() => {
    clearTimeout(timer)
    socket.off('readable', look).off('end', fail)
  })
}
