import { GATEWAY_PREFIX } from '@berth/contract/envelope'
import scalar from '@scalar/fastify-api-reference'
import type { FastifyInstance } from 'fastify'
import { NONCE_PLACEHOLDER, pageNonce, securePages } from './page-security.ts'

const DOCUMENT_PATH = `${GATEWAY_PREFIX}/openapi.json`

/**
 * Serves the OpenAPI document and a page to read it by (R7.9). Everything that the page needs comes from here: no
 * fonts, scripts or services of others.
 */
export async function registerDocs(
  app: FastifyInstance,
  { openApi, publicUrl }: { openApi: () => object; publicUrl: string | null },
): Promise<void> {
  // Made for whoever reads it first: it takes a tenth of a second, which most gateways never need.
  let text: string | undefined
  app.get(DOCUMENT_PATH, async (_request, reply) => {
    reply.header('content-type', 'application/json; charset=utf-8').header('cache-control', 'no-cache')
    text ??= JSON.stringify(openApi())
    return text
  })
  await app.register(async scope => {
    await securePages(scope, { publicUrl, inlineStyles: true })
    scope.addHook('onSend', async (_request, reply, payload) =>
      typeof payload === 'string' && String(reply.getHeader('content-type')).startsWith('text/html')
        ? payload.replaceAll(NONCE_PLACEHOLDER, pageNonce(reply))
        : payload,
    )
    await scope.register(scalar, {
      routePrefix: `${GATEWAY_PREFIX}/docs`,
      configuration: {
        url: DOCUMENT_PATH,
        pageTitle: 'Berth API',
        nonce: NONCE_PLACEHOLDER,
        withDefaultFonts: false,
        telemetry: false,
        proxyUrl: '',
        showDeveloperTools: 'never',
        agent: { disabled: true },
        mcp: { disabled: true },
        hideClientButton: true,
      },
    })
  })
}
