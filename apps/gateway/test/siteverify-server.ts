import { createServer, type IncomingMessage } from 'node:http'

/** What a captcha service was asked, and how it was sent. */
export interface SiteverifyRequest {
  method: string | undefined
  contentType: string | undefined
  form: Record<string, string>
}

/**
 * A captcha service as its documents describe it: it takes a form, and judges a token once. The token `good` is good;
 * `answer` makes it say something else, or nothing.
 */
export async function startSiteverify(secret: string) {
  const requests: SiteverifyRequest[] = []
  const spent = new Set<string>()
  let answer: ((form: Record<string, string>) => { status?: number; text: string } | 'silence') | null = null

  function judge(form: Record<string, string>): object {
    if (form.secret !== secret) return { success: false, 'error-codes': ['invalid-input-secret'] }
    const token = form.response ?? ''
    if (!token.startsWith('good')) return { success: false, 'error-codes': ['invalid-input-response'] }
    if (spent.has(token)) return { success: false, 'error-codes': ['timeout-or-duplicate'] }
    spent.add(token)
    return { success: true, challenge_ts: '2026-03-01T12:00:00Z', hostname: 'gpu.example.com' }
  }

  const server = createServer(async (request, response) => {
    const form = Object.fromEntries(new URLSearchParams(await textOf(request)))
    const { method, headers } = request
    requests.push({ method, contentType: headers['content-type'], form })
    const special = answer?.(form)
    if (special === 'silence') return
    response.writeHead(special?.status ?? 200, { 'content-type': 'application/json' })
    response.end(special?.text ?? JSON.stringify(judge(form)))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}/siteverify`,
    requests,
    answerWith(next: typeof answer) {
      answer = next
    },
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
