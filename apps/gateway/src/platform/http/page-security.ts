import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import helmet from '@fastify/helmet'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { BrandSources } from './brand-sources.ts'

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

/** The page that may load a captcha besides, where the operator chose a service for it. */
const SIGN_IN_PATH = '/auth'

interface PageSecurityOptions {
  publicUrl: string | null
  /** What every page may load besides: a customer goes from page to page, and the policy stays that of the first. */
  sources?: PageSources | null
  /** What the sign-in page may load besides. */
  signInSources?: PageSources | null
  /** For pages of others' making that write styles of their own; scripts stay as they are. */
  inlineStyles?: boolean
  /** What a host's brand adds; left out, nothing. */
  sourcesOf?: (host: string) => BrandSources
}

const NO_SOURCES: BrandSources = { images: [], scripts: [], connections: [] }

/**
 * Puts security headers on every page of a scope. Scripts and styles come from this origin or carry the page's nonce,
 * which is new for each answer; nothing may frame a page. Services of instances live on other origins, so nothing of
 * theirs is allowed here. A brand may add origins of its own (R1.10).
 */
export async function securePages(
  scope: FastifyInstance,
  {
    publicUrl,
    sources = null,
    signInSources = null,
    inlineStyles = false,
    sourcesOf = () => NO_SOURCES,
  }: PageSecurityOptions,
): Promise<void> {
  const others = (kind: keyof PageSources) => {
    const everywhere = sources?.[kind] ?? []
    if (!signInSources || signInSources[kind].length === 0) return everywhere
    const ofSignIn = signInSources[kind].join(' ')
    return [...everywhere, (request: IncomingMessage) => (isSignIn(request) ? ofSignIn : '')]
  }
  scope.addHook('onRequest', (request: FastifyRequest, reply, done) => {
    const nonce = randomBytes(NONCE_BYTES).toString('base64')
    pages.set(reply.raw, { nonce, sources: sourcesOf(request.host) })
    done()
  })
  await scope.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'self'"],
        scriptSrc: ["'self'", nonceSource, brandSource('scripts'), ...others('script')],
        // With a nonce beside it, `unsafe-inline` counts for nothing.
        styleSrc: ["'self'", inlineStyles ? "'unsafe-inline'" : nonceSource, ...others('style')],
        imgSrc: ["'self'", 'data:', 'blob:', brandSource('images')],
        fontSrc: ["'self'", 'data:'],
        // Older browsers do not count a WebSocket to the same host as `self`.
        connectSrc: ["'self'", socketSource, brandSource('connections'), ...others('connect')],
        frameSrc: ["'self'", ...others('frame')],
        workerSrc: ["'self'", 'blob:'],
        objectSrc: ["'none'"],
        baseUri: ["'none'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
      },
    },
    crossOriginEmbedderPolicy: false,
    // A page's address may hold the secret of a mailed link, which no later page and no script on it is to learn.
    referrerPolicy: { policy: 'strict-origin' },
    strictTransportSecurity: publicUrl?.startsWith('https:') ? { maxAge: 31_536_000 } : false,
    xFrameOptions: { action: 'deny' },
    // The front door says it, on whatever it answers.
    xContentTypeOptions: false,
  })
}

/** The nonce of the page that is being answered. */
export function pageNonce(reply: FastifyReply): string {
  return pages.get(reply.raw)?.nonce ?? ''
}

/** What was decided when the request came, for the headers that are made when it is answered. */
const pages = new WeakMap<ServerResponse, { nonce: string; sources: BrandSources }>()

function nonceSource(_request: IncomingMessage, response: ServerResponse): string {
  return `'nonce-${pages.get(response)?.nonce}'`
}

/** Empty for most; what stands here was checked with the catalogue. */
function brandSource(kind: keyof BrandSources) {
  return (_request: IncomingMessage, response: ServerResponse): string =>
    pages.get(response)?.sources[kind].join(' ') ?? ''
}

function isSignIn({ url = '' }: IncomingMessage): boolean {
  return url.split('?')[0] === SIGN_IN_PATH
}

/** The host was checked at the front door, so it holds nothing that could end the directive. */
function socketSource({ headers }: IncomingMessage): string {
  return `ws://${headers.host} wss://${headers.host}`
}
