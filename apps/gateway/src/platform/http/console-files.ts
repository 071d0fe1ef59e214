import { stat } from 'node:fs/promises'
import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { BRAND_PATH } from '../config/brand-files.ts'
import { type Brand, findBrand } from '../config/brands.ts'
import type { Logger } from '../log.ts'
import { brandSources } from './brand-sources.ts'
import { compressFiles } from './compress-files.ts'

import { createPageReader } from './console-page.ts'
import { type PageSources, pageNonce, securePages } from './page-security.ts'

interface ConsoleOptions {
  log: Pick<Logger, 'warn' | 'debug'>
  consoleDir: string | null
  publicUrl: string | null
  sources?: PageSources | null
  signInSources?: PageSources | null
  brands: readonly Brand[]
  payments: string
}

/** A path of a file rather than of a page: its last part has a dot, or it lies where only files do. */
const FILE_PATH = /^\/(assets|locales)\/|\.[^/]*$/
const HASHED = 'public, max-age=31536000, immutable'
const SHORT = 'public, max-age=60'

/** Serves the built console: hashed assets for ever, the page itself afresh with a nonce of its own. */
export async function registerConsole(app: FastifyInstance, options: ConsoleOptions): Promise<void> {
  const { consoleDir, log, brands } = options
  const readPage = createPageReader(options)
  await app.register(async scope => {
    await securePages(scope, { ...options, sourcesOf: host => brandSources(findBrand(brands, host)) })
    if (consoleDir !== null && (await isFolder(consoleDir))) {
      await scope.register(fastifyStatic, {
        root: consoleDir,
        serve: false,
        preCompressed: true,
        dotfiles: 'ignore',
        cacheControl: false,
        setHeaders: (reply: FastifyReply, path: string) => {
          reply.header('cache-control', path.includes('/assets/') ? HASHED : SHORT)
        },
      } as never)
      // The first page need not wait for it.
      compressFiles(consoleDir).then(
        written => log.debug({ written }, 'compressed the files of the console'),
        error => log.warn({ err: error }, 'the files of the console are sent uncompressed'),
      )
    }
    // Asked for by every browser that is shown something else than a page of the console.
    scope.get('/favicon.ico', (_request, reply) => reply.redirect('/favicon.svg'))
    answerBrandFiles(scope, brands)
    scope.get('/*', (request, reply) =>
      answerPage(request, reply, path => readPage(path, findBrand(brands, request.host))),
    )
  })
}

async function answerPage(
  request: FastifyRequest,
  reply: FastifyReply,
  readPage: (path: string) => Promise<readonly string[] | null>,
): Promise<FastifyReply> {
  const path = request.url.split('?')[0] ?? '/'
  if (path === GATEWAY_PREFIX || path.startsWith(`${GATEWAY_PREFIX}/`)) return notFound(reply)
  if (FILE_PATH.test(path)) {
    return path !== '/index.html' && 'sendFile' in reply ? reply.sendFile(decode(path)) : notFound(reply)
  }
  const parts = await readPage(path)
  reply.header('cache-control', 'no-store').type('text/html; charset=utf-8')
  if (!parts) return reply.code(503).send(NOT_BUILT)
  return reply.send(parts.join(pageNonce(reply)))
}

/** Images of brands, under addresses that change with their content. */
function answerBrandFiles(scope: FastifyInstance, brands: readonly Brand[]): void {
  const files = brands
    .flatMap(({ logo }) => (logo ? [logo.light, logo.dark] : []))
    .flatMap(({ url, file }) => (file ? [[url, file] as const] : []))
  const byUrl = new Map(files)
  scope.get(`${BRAND_PATH}*`, (request, reply) => {
    const file = byUrl.get(request.url.split('?')[0] ?? '')
    if (!file) return notFound(reply)
    return reply.header('cache-control', HASHED).type(file.type).send(Buffer.from(file.bytes))
  })
}

function notFound(reply: FastifyReply): FastifyReply {
  reply.callNotFound()
  return reply
}

const NOT_BUILT = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Berth</title>
<h1>The console is not built</h1>
<p>The gateway runs, but the folder with its pages is missing. Stop it and run <code>npm start</code>, which builds
the console.</p>
`

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    found => found.isDirectory(),
    () => false,
  )
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
