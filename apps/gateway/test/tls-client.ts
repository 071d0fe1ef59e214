import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { get, type IncomingHttpHeaders, type IncomingMessage, request as requestPlain } from 'node:http'
import { type RequestOptions, request as requestTls } from 'node:https'
import type { Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { Call, CallData, CallInput } from '@berth/contract/call'
import { GATEWAY_PREFIX, IDEMPOTENCY_KEY_HEADER } from '@berth/contract/envelope'

export interface Asked {
  method?: string
  headers?: Record<string, string>
  body?: string | Buffer
}

/** A client of what stands behind a proxy with TLS on this computer, whatever its names. */
export type TlsClient = ReturnType<typeof createTlsClient>

/** @param ca Whose certificates are believed, in PEM; null where what listens there speaks without TLS. */
export function createTlsClient(port: number, ca: string | Buffer | null) {
  const request = ca === null ? requestPlain : requestTls
  /** Every name leads to this computer. */
  const place = {
    ...(ca !== null && { ca }),
    port,
    lookup: ((_name, options, done) => {
      if (typeof options === 'object' && options.all) done(null, [{ address: '127.0.0.1', family: 4 }])
      else done(null, '127.0.0.1', 4)
    }) as NonNullable<RequestOptions['lookup']>,
  }

  /** @returns The answer when its head is there. */
  async function open(host: string, path: string, { method = 'GET', headers = {}, body }: Asked = {}) {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const sent = request({
      ...place,
      ...{ host, path, method, agent: false },
      headers: { host: `${host}:${port}`, ...length, ...headers },
    })
    sent.end(body)
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    return answer
  }

  async function ask(
    host: string,
    path: string,
    asked?: Asked,
  ): Promise<{ status: number; headers: IncomingHttpHeaders; body: Buffer }> {
    const answer = await open(host, path, asked)
    return { status: answer.statusCode ?? 0, headers: answer.headers, body: await buffer(answer) }
  }

  /** Becomes another protocol. @returns The connection, from there on. */
  async function upgrade(host: string, path: string, headers: Record<string, string>): Promise<Duplex> {
    const sent = request({
      ...place,
      host,
      path,
      agent: false,
      headers: { host: `${host}:${port}`, ...headers },
    })
    sent.end()
    const [answer, socket] = (await Promise.race([
      once(sent, 'upgrade'),
      once(sent, 'response').then(([{ statusCode }]) => {
        throw new Error(`HTTP ${statusCode}`)
      }),
    ])) as [IncomingMessage, Duplex]
    if (answer.statusCode !== 101) throw new Error(`HTTP ${answer.statusCode}`)
    return socket
  }

  /** Makes a call of the contract that must work. @returns Its data. */
  async function data<C extends Call>(
    host: string,
    call: C,
    input: CallInput<C>,
    { token, headers = {} }: { token?: string; headers?: Record<string, string> } = {},
  ): Promise<CallData<C>> {
    const {
      params = {},
      query = {},
      body,
    } = input as Record<'params' | 'query', object | undefined> & {
      body?: object
    }
    const values = params as Record<string, unknown>
    const path = call.path.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(String(values[name])),
    )
    const search = new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    )
    const answer = await ask(host, `${GATEWAY_PREFIX}${path}?${search}`, {
      method: call.method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(call.spends && { [IDEMPOTENCY_KEY_HEADER]: randomUUID() }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const envelope = JSON.parse(answer.body.toString())
    if (envelope.status !== 'ok') throw new Error(`${call.operation}: ${answer.body}`)
    return envelope.data
  }

  return { place, open, ask, upgrade, data }
}

/** Asks this computer without TLS, under any name. @returns What was answered, and where that leads. */
export async function askPlain(port: number, host: string, path: string) {
  const asked = get({ host: '127.0.0.1', port, path, agent: false, headers: { host: `${host}:${port}` } })
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  answer.resume()
  return { status: answer.statusCode, location: answer.headers.location }
}
