import { connect as connectTcp } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { ERRORS, type ErrorCode } from '@berth/contract/errors'
import * as z from 'zod'
import { ApiError } from '../http/api-error.ts'
import { READ_AHEAD } from '../read-ahead.ts'
import { spanned, traceparentHere } from '../tracing/spans.ts'
import { CHANNEL_TLS, KEEP_ALIVE_MS, keyTowards } from './channel-tls.ts'
import { readFrame, writeFrame } from './frames.ts'

/** The other gateway is not there, or does not answer as one; its caller may try another. */
export class GatewayAway extends ApiError {
  constructor(cause: unknown) {
    super('unavailable', { cause })
    this.name = 'GatewayAway'
  }
}

/** Until both sides have shown that they know the key. Gateways are close to each other. */
const CONNECT_MS = 3_000
/** Until the other side has said whether it does what it is asked: it may have to ask a machine. */
const ANSWER_MS = 15_000
/** Streams to all other gateways together. */
const STREAMS_OUT_MAX = 2_000

const answer = z.union([
  z.object({ ok: z.literal(true) }),
  z.object({
    ok: z.literal(false),
    code: z.custom<ErrorCode>(code => typeof code === 'string' && Object.hasOwn(ERRORS, code)),
    values: z.record(z.string(), z.union([z.string(), z.number()])),
    fields: z.array(z.object({ path: z.string(), rule: z.string() })),
  }),
])

interface ChannelClientOptions {
  selfId: string
  key: Uint8Array
}

interface Destination {
  gatewayId: string
  /** `host:port` */
  address: string
}

/** The calling end of the channel between gateways. */
export function createChannelClient({ selfId, key }: ChannelClientOptions) {
  const streams = new Map<TLSSocket, string>()

  async function openStream(
    { gatewayId, address }: Destination,
    kind: string,
    request: unknown,
  ): Promise<Duplex> {
    if (streams.size >= STREAMS_OUT_MAX) throw new ApiError('unavailable')
    const socket = await connect(address, { identity: gatewayId, psk: keyTowards(key, gatewayId) })
    streams.set(socket, gatewayId)
    socket.once('close', () => streams.delete(socket))
    try {
      const trace = traceparentHere()
      writeFrame(socket, { from: selfId, kind, request, ...(trace !== undefined && { trace }) })
      const said = await readFrame(socket, ANSWER_MS)
        .then(frame => answer.parse(frame))
        .catch(cause => {
          throw new GatewayAway(cause)
        })
      if (said.ok) return socket
      throw new ApiError(said.code, { values: said.values, fields: said.fields as ApiError['fields'] })
    } catch (error) {
      socket.destroy()
      throw error
    }
  }

  return {
    /**
     * Opens a stream to another gateway.
     * @throws GatewayAway when it cannot be reached or cannot prove to be that gateway.
     * @throws ApiError with the code that it refused with.
     */
    open(to: Destination, kind: string, request: unknown): Promise<Duplex> {
      return spanned(`hop ${kind}`, {}, () => openStream(to, kind, request))
    },
    /** Gateways that streams are open to. */
    peers: (): string[] => [...new Set(streams.values())],
    count: (): number => streams.size,
    /** Cuts the streams to a gateway that is gone. */
    cut(gatewayId: string): void {
      for (const [socket, to] of streams) if (to === gatewayId) socket.destroy()
    },
    close(): void {
      for (const socket of streams.keys()) socket.destroy()
    },
  }
}

/** @throws GatewayAway */
function connect(address: string, proof: { identity: string; psk: Buffer }): Promise<TLSSocket> {
  const { hostname, port } = new URL(`tcp://${address}`)
  return new Promise((resolve, reject) => {
    const raw = connectTcp({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port),
      allowHalfOpen: true,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
    })
    const socket = connectTls({
      ...CHANNEL_TLS,
      ...READ_AHEAD,
      socket: raw,
      // There is no certificate whose name could be looked at: the key itself names who is reached.
      checkServerIdentity: () => undefined,
      pskCallback: () => proof,
    })
    const fail = (error: Error) => {
      clearTimeout(timer)
      raw.destroy()
      socket.destroy()
      reject(new GatewayAway(error))
    }
    const timer = setTimeout(() => fail(new Error('it did not answer in time')), CONNECT_MS)
    const onClose = () => fail(new Error('it hung up'))
    // Stays: a consumer hears of an error by `close`; unheard, the event would end the process.
    socket.on('error', fail)
    raw.on('error', fail)
    socket.once('close', onClose)
    socket.once('secureConnect', () => {
      clearTimeout(timer)
      socket.off('close', onClose)
      resolve(socket)
    })
  })
}
