import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A payout as the double has it. */
export interface PaypalPayout {
  payout_batch_id: string
  sender_batch_id: string
  receiver: string
  value: string
  currency: string
  /** Null: the batch is not gone through yet, and has no items. */
  transaction_status: string | null
  error: string | null
  batch_status: string
}

/** What the double does with the next question that asks it to pay. */
export type PaypalMood =
  | 'well'
  /** It pays, and the answer is lost. */
  | 'answer_lost'
  /** It does nothing, and says that something is wrong with it. */
  | 'down'
  | 'no_funds'
  | 'bad_receiver'
  | 'forbidden'
  /** It says that it has the batch, and not which one it is. */
  | 'duplicate_unnamed'
  /** Something that is no JSON. */
  | 'nonsense'
  | 'endless'

const CLIENT = { id: 'AaBbCcDdEeFfGgHhIiJjKkLl', secret: 'EeFfGgHhIiJjKkLlMmNnOoPp' }
const TOKEN_SECONDS = 32_400

/**
 * A double of PayPal's Payouts API, by what its reference says: tokens by client credentials, a batch for a `sender_batch_id`
 * once, and its items. @see https://developer.paypal.com/docs/api/payments.payouts-batch/v1/
 */
export async function startPaypalServer() {
  const payouts: PaypalPayout[] = []
  const asked: { method: string; path: string; authorization: string; requestId: string }[] = []
  const tokens = new Set<string>()
  let mood: PaypalMood = 'well'

  function take(body: string): { status: number; json: unknown } {
    const { sender_batch_header: header, items } = JSON.parse(body)
    const [item] = items
    const links = (id: string) => [
      { href: `https://api-m.paypal.com/v1/payments/payouts/${id}`, rel: 'self', method: 'GET' },
    ]
    const earlier = payouts.find(({ sender_batch_id }) => sender_batch_id === header.sender_batch_id)
    if (earlier || mood === 'duplicate_unnamed') {
      const details = [
        {
          field: 'SENDER_BATCH_ID',
          location: 'body',
          issue: 'Batch with given sender_batch_id already exists',
          ...(mood !== 'duplicate_unnamed' && { link: links(earlier?.payout_batch_id ?? '') }),
        },
      ]
      return { status: 400, json: { name: 'USER_BUSINESS_ERROR', message: 'User business error.', details } }
    }
    if (mood === 'no_funds') {
      return {
        status: 422,
        json: { name: 'INSUFFICIENT_FUNDS', message: 'Sender does not have sufficient funds.' },
      }
    }
    if (mood === 'bad_receiver') {
      const details = [
        {
          field: 'items[0].receiver',
          location: 'body',
          issue: 'Receiver is invalid or does not match with type',
        },
      ]
      return {
        status: 400,
        json: { name: 'VALIDATION_ERROR', message: 'Invalid request - see details', details },
      }
    }
    const made: PaypalPayout = {
      payout_batch_id: randomUUID().slice(0, 13).toUpperCase(),
      sender_batch_id: header.sender_batch_id,
      receiver: item.receiver,
      ...item.amount,
      ...{ transaction_status: null, error: null, batch_status: 'PENDING' },
    }
    payouts.push(made)
    const { payout_batch_id } = made
    return {
      status: 201,
      json: {
        batch_header: { payout_batch_id, batch_status: 'PENDING', sender_batch_header: header },
        links: links(payout_batch_id),
      },
    }
  }

  function show(id: string): { status: number; json: unknown } {
    const found = payouts.find(({ payout_batch_id }) => payout_batch_id === id)
    if (!found) return { status: 404, json: { name: 'RESOURCE_NOT_FOUND', message: 'Failed.' } }
    const { payout_batch_id, batch_status, transaction_status, receiver, value, currency, error } = found
    return {
      status: 200,
      json: {
        batch_header: { payout_batch_id, batch_status, amount: { value, currency } },
        items:
          transaction_status === null
            ? []
            : [
                {
                  payout_item_id: `I${payout_batch_id}`,
                  transaction_status,
                  payout_item: { recipient_type: 'EMAIL', receiver, amount: { value, currency } },
                  ...(error !== null && { errors: { name: error, message: '', details: [] } }),
                },
              ],
      },
    }
  }

  const server = createServer(async (request, response) => {
    const body = await text(request)
    const { method = '', url: path = '' } = request
    const { authorization = '' } = request.headers
    const requestId = String(request.headers['paypal-request-id'] ?? '')
    asked.push({ method, path, authorization, requestId })
    const answer = (status: number, json: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))
    }
    if (path === '/v1/oauth2/token') {
      const basic = `Basic ${Buffer.from(`${CLIENT.id}:${CLIENT.secret}`).toString('base64')}`
      if (authorization !== basic || body !== 'grant_type=client_credentials') {
        return answer(401, { error: 'invalid_client' })
      }
      const access_token = `A21AA${randomUUID()}`
      tokens.add(access_token)
      return answer(200, { access_token, token_type: 'Bearer', expires_in: TOKEN_SECONDS })
    }
    if (!tokens.has(authorization.replace(/^Bearer /, '')))
      return answer(401, { name: 'AUTHENTICATION_FAILURE' })
    if (mood === 'down') return answer(503, { name: 'INTERNAL_SERVICE_ERROR' })
    if (mood === 'forbidden') return answer(403, { name: 'AUTHORIZATION_ERROR' })
    if (mood === 'nonsense')
      return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
    if (mood === 'endless') return void response.writeHead(200).end('x'.repeat(2_000_000))
    if (method === 'POST' && path === '/v1/payments/payouts') {
      const { status, json } = take(body)
      if (mood === 'answer_lost') return void request.socket.destroy()
      return answer(status, json)
    }
    const { status, json } = show(path.replace('/v1/payments/payouts/', ''))
    answer(status, json)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    access: {
      clientId: CLIENT.id,
      secret: CLIENT.secret,
      apiUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    },
    payouts,
    asked,
    /** What it does from now on. */
    setMood(next: PaypalMood): void {
      mood = next
    },
    /** It goes through a batch. */
    decide(senderBatchId: string, transaction_status: string, error: string | null = null): void {
      const found = payouts.find(({ sender_batch_id }) => sender_batch_id === senderBatchId)
      Object.assign(found ?? {}, { transaction_status, error, batch_status: 'SUCCESS' })
    },
    /** Tokens of before count no more. */
    endTokens: () => tokens.clear(),
    async stop(): Promise<void> {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
export type PaypalServer = Awaited<ReturnType<typeof startPaypalServer>>
