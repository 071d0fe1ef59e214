import type { IncomingMessage } from 'node:http'
import { type Agent, type RequestOptions, request } from 'node:https'
import type { Duplex } from 'node:stream'
import type { KubeConfig } from '@kubernetes/client-node'
import { WebSocket } from 'ws'
import { ComputeError } from '../port/compute-error.ts'
import { asRefusal, type KubeRefusal, toComputeError, unreachable } from './kube-errors.ts'

/** How a cluster is reached. What a kubeconfig names is read anew at each opening of the engine. */
export type KubePlace =
  | { kind: 'kubeconfig'; file: string; context: string | null }
  /** The gateway is a pod of the cluster, and goes by its service account. */
  | { kind: 'in_cluster' }

export interface Asked {
  query?: Record<string, string | number | boolean | readonly string[] | undefined>
  /** Sent as JSON. */
  body?: unknown
  contentType?: string
  signal?: AbortSignal
  timeoutMs?: number
}

/** What the API server is asked, each way with the cluster's own credentials. */
export interface KubeLink {
  /**
   * Asks, and reads the answer whole.
   * @throws KubeRefusal where the API server refuses, ComputeError `engine_unavailable` where it does not answer.
   */
  json<T>(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, asked?: Asked): Promise<T>
  /** Asks for what comes piece by piece. Destroy it to stop. Throws as `json` does. */
  stream(path: string, asked?: Asked): Promise<IncomingMessage>
  /**
   * Opens a WebSocket, which is not read until somebody listens.
   * @throws as `json` does.
   */
  socket(path: string, protocols: string[], query?: Asked['query']): Promise<WebSocket>
  /**
   * Opens a connection that speaks SPDY from here on. Nothing of it was read.
   * @param protocol What is spoken within that.
   * @throws as `json` does.
   */
  upgrade(path: string, protocol: string, query?: Asked['query']): Promise<Duplex>
  close(): void
}

const ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'
/** By its name rather than by variables of the environment, which the process that keeps shells does not have. */
const IN_CLUSTER = {
  name: 'cluster',
  server: 'https://kubernetes.default.svc',
  caFile: `${ACCOUNT_FOLDER}/ca.crt`,
  skipTLSVerify: false,
}
const OWN_ACCOUNT = {
  name: 'account',
  authProvider: { name: 'tokenFile', config: { tokenFile: `${ACCOUNT_FOLDER}/token` } },
}

const ANSWER_TIMEOUT_MS = 15_000
/** Lists of a large cluster. */
const ANSWER_BYTES_MAX = 256 * 1024 * 1024
const REFUSAL_BYTES_MAX = 64 * 1024
/** Credentials may be renewed at any time: a token in a file, or what a program gives out. */
const CREDENTIALS_KEPT_MS = 30_000
const STATUS_UNAUTHORIZED = 401

/**
 * Makes the way to a cluster's API server.
 * @throws ComputeError `engine_unavailable` where the kubeconfig cannot be read, or names no cluster.
 */
export async function createKubeLink(place: KubePlace): Promise<KubeLink> {
  // What speaks to Kubernetes is loaded only where there is a cluster.
  const { KubeConfig: Config } = await import('@kubernetes/client-node')
  const config = new Config()
  try {
    if (place.kind === 'in_cluster') {
      config.loadFromClusterAndUser(IN_CLUSTER, OWN_ACCOUNT)
    } else {
      config.loadFromFile(place.file)
      if (place.context !== null) config.setCurrentContext(place.context)
    }
  } catch (cause) {
    throw new ComputeError('engine_unavailable', `the kubeconfig cannot be read: ${place.kind}`, { cause })
  }
  const server = config.getCurrentCluster()?.server
  const base = server && URL.canParse(server) ? new URL(server) : null
  if (base?.protocol !== 'https:') {
    throw new ComputeError('engine_unavailable', 'the kubeconfig names no cluster that is reached by TLS')
  }
  const credentials = keepCredentials(config)

  const urlOf = (path: string, query: Asked['query'] = {}) => {
    const url = new URL(base.pathname.replace(/\/$/, '') + path, base)
    for (const [name, value] of Object.entries(query)) {
      for (const one of Array.isArray(value) ? value : [value])
        if (one !== undefined) url.searchParams.append(name, String(one))
    }
    return url
  }

  async function open(method: string, path: string, asked: Asked): Promise<IncomingMessage> {
    const { body, contentType = 'application/json', signal, timeoutMs = ANSWER_TIMEOUT_MS } = asked
    const text = body === undefined ? null : Buffer.from(JSON.stringify(body))
    const options = await credentials.now()
    const given = Promise.withResolvers<IncomingMessage>()
    const asking = request(urlOf(path, asked.query), {
      ...options,
      method,
      headers: {
        ...options.headers,
        accept: 'application/json',
        ...(text && { 'content-type': contentType, 'content-length': text.length }),
      },
      ...(signal && { signal }),
    })
    const timer = setTimeout(() => asking.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
    asking.on('response', given.resolve)
    asking.on('error', error =>
      given.reject(
        signal?.aborted ? new ComputeError('failed', 'the call was given up') : unreachable(error),
      ),
    )
    asking.end(text ?? undefined)
    try {
      const response = await given.promise
      const status = response.statusCode ?? 0
      if (status >= 200 && status < 300) return response
      if (status === STATUS_UNAUTHORIZED) credentials.forget()
      throw asRefusal(status, await readAll(response, REFUSAL_BYTES_MAX))
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    async json<T>(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, asked: Asked = {}): Promise<T> {
      const response = await open(method, path, asked)
      const timer = setTimeout(
        () => response.destroy(new Error('the answer breaks off')),
        asked.timeoutMs ?? ANSWER_TIMEOUT_MS,
      )
      try {
        return JSON.parse(await readAll(response, ANSWER_BYTES_MAX)) as T
      } catch (error) {
        if (asked.signal?.aborted) throw new ComputeError('failed', 'the call was given up')
        throw unreachable(error)
      } finally {
        clearTimeout(timer)
      }
    },
    stream: (path, asked = {}) => open('GET', path, asked),
    async socket(path, protocols, query) {
      const { headers, agent } = await credentials.now()
      const url = urlOf(path, query)
      url.protocol = 'wss:'
      return await openSocket(
        new WebSocket(url, protocols, {
          headers: headers as Record<string, string>,
          ...(agent && { agent: agent as Agent }),
          handshakeTimeout: ANSWER_TIMEOUT_MS,
          perMessageDeflate: false,
        }),
      )
    },
    async upgrade(path, protocol, query) {
      const options = await credentials.now()
      return await new Promise<Duplex>((resolve, reject) => {
        const asking = request(urlOf(path, query), {
          ...options,
          method: 'POST',
          timeout: ANSWER_TIMEOUT_MS,
          headers: {
            ...options.headers,
            connection: 'Upgrade',
            upgrade: 'SPDY/3.1',
            'x-stream-protocol-version': protocol,
          },
        })
        asking.once('upgrade', (_, socket, head) => {
          socket.setTimeout(0)
          if (head.length > 0) socket.unshift(head)
          resolve(socket)
        })
        asking.once('response', response => {
          readAll(response, REFUSAL_BYTES_MAX).then(
            text => reject(asRefusal(response.statusCode ?? 0, text)),
            error => reject(unreachable(error)),
          )
        })
        asking.once('timeout', () => asking.destroy(new Error(`no answer within ${ANSWER_TIMEOUT_MS} ms`)))
        asking.on('error', error => reject(unreachable(error)))
        asking.end()
      })
    },
    close: () => credentials.close(),
  }
}

function openSocket(socket: WebSocket): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    socket.once('open', () => {
      // Nothing is lost that comes before somebody listens.
      socket.pause()
      socket.removeAllListeners('error')
      socket.on('error', () => socket.terminate())
      resolve(socket)
    })
    socket.once('unexpected-response', (_, response) => {
      readAll(response, REFUSAL_BYTES_MAX)
        .then(text => reject(asRefusal(response.statusCode ?? 0, text)), reject)
        .finally(() => socket.terminate())
    })
    socket.on('error', error => reject(unreachable(error)))
  })
}

/** One agent for all calls, whose connections stay open, with headers that are renewed. */
function keepCredentials(config: KubeConfig) {
  let kept: { options: RequestOptions; atMs: number } | null = null
  let agent: Agent | null = null
  let known = ''
  return {
    async now(): Promise<RequestOptions & { headers: Record<string, string> }> {
      if (!kept || performance.now() - kept.atMs > CREDENTIALS_KEPT_MS) {
        const options: RequestOptions = {}
        try {
          await config.applyToHTTPSOptions(options)
        } catch (error) {
          throw unreachable(error)
        }
        const files = [options.ca, options.cert, options.key].map(String).join()
        if (files !== known || agent === null) {
          agent?.destroy()
          agent = options.agent as Agent
          // The client makes one that opens a connection for each call.
          Object.assign(agent, { keepAlive: true, maxFreeSockets: 16 })
          known = files
        }
        kept = { options: { ...options, agent }, atMs: performance.now() }
      }
      return { ...kept.options, headers: { ...(kept.options.headers as Record<string, string>) } }
    },
    forget() {
      kept = null
    },
    close: () => agent?.destroy(),
  }
}

async function readAll(response: IncomingMessage, bytesMax: number): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length
    if (bytes > bytesMax) throw new Error('the answer is too long')
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString()
}

/** Runs calls so that all that they throw is the port's own error. */
export async function translated<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toComputeError(error, doing)
  }
}

/** What a question about one thing finds; null where there is none. */
export async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if ((error as Partial<KubeRefusal>).status === 404) return null
    throw error
  }
}
