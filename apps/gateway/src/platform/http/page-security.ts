import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import helmet from '@fastify/helmet'
import type { FastifyInstance, FastifyReply } from 'fastify'

/** What the build writes where a page's nonce belongs. */
export const NONCE_PLACEHOLDER = '__CSP_NONCE__'

const NONCE_BYTES = 16

/** Origins of others, such as `https://service.example`, by what may be loaded from them. */
export interface PageSources {
  script: readonly string[]
  frame: readonly string[]
  style: readonly string[]
  connect: readonly string[]
}

/** The one page that may load something of others: a captcha, where the operator chose a service for it. */
const SIGN_IN_PATH = '/auth'

interface PageSecurityOptions {
  publicUrl: string | null
  /** What the sign-in page may load besides. */
  signInSources?: PageSources | null
  /** For pages of others' making that write styles of their own; scripts stay as they are. */
  inlineStyles?: boolean
}

/**
 * Puts security headers on every page of a scope. Scripts and styles come from this origin or carry the page's nonce,
 * which is new for each answer; nothing may frame a page. Services of instances live on other origins, so nothing of
 * theirs is allowed here.
 */
export async function securePages(
  scope: FastifyInstance,
  { publicUrl, signInSources = null, inlineStyles = false }: PageSecurityOptions,
): Promise<void> {
  const others = (kind: keyof PageSources) => {
    if (!signInSources || signInSources[kind].length === 0) return []
    const sources = signInSources[kind].join(' ')
    return [(request: IncomingMessage) => (isSignIn(request) ? sources : '')]
  }
  scope.addHook('onRequest', (_request, reply, done) => {
    nonces.set(reply.raw, randomBytes(NONCE_BYTES).toString('base64'))
    done()
  })
  await scope.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'self'"],
        scriptSrc: ["'self'", nonceSource, ...others('script')],
        // With a nonce beside it, `unsafe-inline` counts for nothing.
        styleSrc: ["'self'", inlineStyles ? "'unsafe-inline'" : nonceSource, ...others('style')],
        imgSrc: ["'self'", 'data:', 'blob:'],
        fontSrc: ["'self'", 'data:'],
        // Older browsers do not count a WebSocket to the same host as `self`.
        connectSrc: ["'self'", socketSource, ...others('connect')],
        frameSrc: ["'self'", ...others('frame')],
        workerSrc: ["'self'", 'blob:'],
        objectSrc: ["'none'"],
        baseUri: ["'none'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
      },
    },
    crossOriginEmbedderPolicy: false,
    referrerPolicy: { policy: 'strict-origin-when-cross-origin' },
    strictTransportSecurity: publicUrl?.startsWith('https:') ? { maxAge: 31_536_000 } : false,
    xFrameOptions: { action: 'deny' },
  })
}

/** The nonce of the page that is being answered. */
export function pageNonce(reply: FastifyReply): string {
  return nonces.get(reply.raw) ?? ''
}

const nonces = new WeakMap<ServerResponse, string>()

function nonceSource(_request: IncomingMessage, response: ServerResponse): string {
  return `'nonce-${nonces.get(response)}'`
}

function isSignIn({ url = '' }: IncomingMessage): boolean {
  return url.split('?')[0] === SIGN_IN_PATH
}

/** The host was checked at the front door, so it holds nothing that could end the directive. */
function socketSource({ headers }: IncomingMessage): string {
  return `ws://${headers.host} wss://${headers.host}`
}
