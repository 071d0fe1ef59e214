import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A span as OTLP has it in JSON, with its facts by their names. */
export interface ReceivedSpan {
  name: string
  traceId: string
  spanId: string
  parentSpanId: string
  failed: boolean
  facts: Record<string, unknown>
}

interface OtlpSpan extends Omit<ReceivedSpan, 'failed' | 'facts'> {
  status?: { code?: number }
  attributes: { key: string; value: Record<string, unknown> }[]
}

const FAILED = 2

/** A collector of traces that keeps what it is sent, by OTLP over HTTP. */
export async function startOtlpReceiver() {
  const spans: ReceivedSpan[] = []
  const seen: { path: string; headers: IncomingHttpHeaders; body: string }[] = []
  let isHanging = false
  const server = createServer(async (request, response) => {
    const body = await text(request)
    seen.push({ path: request.url ?? '', headers: request.headers, body })
    if (isHanging) return
    const { resourceSpans } = JSON.parse(body) as {
      resourceSpans: { scopeSpans: { spans: OtlpSpan[] }[] }[]
    }
    for (const { status, attributes, parentSpanId = '', ...span } of resourceSpans.flatMap(({ scopeSpans }) =>
      scopeSpans.flatMap(scope => scope.spans),
    )) {
      const facts = Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
      spans.push({ ...span, parentSpanId, failed: status?.code === FAILED, facts })
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    spans,
    seen,
    /** From now on it takes what comes and never answers. */
    hang: () => {
      isHanging = true
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
