// The floor for calls: a bare Fastify that verifies the same token and answers with the same bytes. At
// `/remembered` it verifies a token once and then only looks it up: a harder one than the aim asks for.
import { randomBytes, randomUUID } from 'node:crypto'
import fastify from 'fastify'
import { createAccessTokens } from '../apps/gateway/src/domains/identity/sessions/access-token.ts'
import { systemClock } from '../apps/gateway/src/platform/clock.ts'
import { fixedTokenKeys } from '../apps/gateway/src/platform/installation/token-keys.ts'

const tokens = createAccessTokens({ keys: fixedTokenKeys(randomBytes(32)), clock: systemClock })
const now = systemClock.now()
const token = await tokens.issue({
  sessionId: randomUUID(),
  userId: randomUUID(),
  createdAt: now,
  expiresAt: new Date(now.getTime() + 3_600_000),
})
const answer = JSON.parse(process.env.BENCH_ANSWER ?? '{}') as object

const app = fastify()
app.get('/gateway/api/bill/balance', async (request, reply) => {
  const token = request.headers.authorization?.slice('Bearer '.length) ?? ''
  if (!(await tokens.verify(token))) return reply.code(401).send({ status: 'error' })
  return answer
})
const remembered = new Map<string, unknown>()
app.get('/remembered', async (request, reply) => {
  const token = request.headers.authorization?.slice('Bearer '.length) ?? ''
  if (!remembered.has(token)) remembered.set(token, await tokens.verify(token))
  if (!remembered.get(token)) return reply.code(401).send({ status: 'error' })
  return answer
})
console.log(`ready on ${await app.listen({ host: '127.0.0.1', port: 0 })} with ${token}`)
process.on('SIGTERM', () => process.exit(0))
