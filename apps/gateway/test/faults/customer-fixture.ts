import { randomUUID } from 'node:crypto'
import {
  APPLICATION,
  getAccount,
  listMailbox,
  login,
  ORGANIZATION,
  signup,
  verifyEmail,
} from '@berth/contract/account'
import { getBalance, type topup } from '@berth/contract/billing'
import type { Call, CallData, CallInput } from '@berth/contract/call'
import type { ErrorEnvelope, OkEnvelope } from '@berth/contract/envelope'
import { ERRORS } from '@berth/contract/errors'
import { type deployInstance, type Instance, listInstances } from '@berth/contract/instances'
import { CALL_TIMEOUT_MS } from '@berth/contract/limits'
import { expect } from 'vitest'
import { type CallOptions, sendCall } from '../start-gateway.ts'

const PASSWORD = 'Correct-Horse-7'
/** A key whose gateway died is free again some seconds later; a machine that is busy needs longer for everything. */
const FINAL_MS = 90_000
const RETRY_MS = 50
const POLL = { timeout: 90_000, interval: 50 }
const CARD = '4242424242424242'

/** What came of a call: an answer, or a connection that broke or was refused. */
export type Result<Data> =
  | { kind: 'answer'; httpStatus: number; envelope: OkEnvelope<Data> | ErrorEnvelope; replayed: boolean }
  | { kind: 'dropped' }

/** A customer with a verified address, who only ever talks to the gateway over HTTP. */
export interface Customer {
  userId: string
  token: string
  /** Makes a call once. @throws when it takes longer than the console would wait. */
  once<C extends Call>(call: C, input: CallInput<C>, options?: CallOptions): Promise<Result<CallData<C>>>
  /**
   * Makes a call, with one key, until its answer stands: the gateway may be away, or away again.
   * @throws when the gateway says that something went wrong that it does not understand.
   */
  untilFinal<C extends Call>(
    call: C,
    input: CallInput<C>,
    options?: CallOptions,
  ): Promise<OkEnvelope<CallData<C>> | ErrorEnvelope>
  /** The same for a call that must work. */
  data<C extends Call>(call: C, input: CallInput<C>, options?: CallOptions): Promise<CallData<C>>
  balanceCents(): Promise<number>
  /** The same customer, who asks another gateway. */
  at(origin: string): Customer
  find(instanceId: string): Promise<Instance | undefined>
  untilRunning(instanceId: string): Promise<Instance>
}

/** Signs a new customer up as a person does: form, mail, link, sign-in. */
export async function signUp(origin: string): Promise<Customer> {
  const email = `${randomUUID()}@example.org`
  const guest = customerOf(origin, { userId: '' })
  const names = { application: APPLICATION, organization: ORGANIZATION }
  await guest.data(signup, {
    body: { ...names, username: email, password: PASSWORD, name: 'Fault', email, agreement: true },
  })
  const token = await linkTokenOf(guest, email)
  await guest.data(verifyEmail, { query: { application: APPLICATION, token } })
  const accessToken = await guest.data(login, {
    body: { ...names, type: 'token', username: email, password: PASSWORD },
  })
  const { id } = await customerOf(origin, { userId: '', token: accessToken }).data(getAccount, {})
  return customerOf(origin, { userId: id, token: accessToken })
}

/** What a top-up by a good card says. */
export function topupInput(amount: number): CallInput<typeof topup> {
  return { body: { amount, currency: 'USD', platform_name: 'testcard', source: CARD } }
}

/** What a deploy of the cheapest instance says. */
export function deployInput(name: string): CallInput<typeof deployInstance> {
  return {
    body: {
      name,
      region_code: 'us-west',
      gpu_spec_id: 'cpu',
      gpu_count: 1,
      image_id: 'berth-base',
      container_disk_gb: 20,
    },
  }
}

function customerOf(origin: string, who: { userId: string; token?: string }): Customer {
  const base: CallOptions = who.token === undefined ? {} : { token: who.token }

  const once: Customer['once'] = async (call, input, options) => {
    const timeoutMs = CALL_TIMEOUT_MS[call.timeout]
    try {
      const answer = await sendCall(origin, call, input as object, { ...base, timeoutMs, ...options })
      const replayed = answer.headers.get('idempotent-replayed') === 'true'
      return { kind: 'answer', httpStatus: answer.httpStatus, envelope: answer.envelope, replayed }
    } catch (error) {
      // That is how `fetch` says that there was no connection, or that it broke.
      if (error instanceof TypeError) return { kind: 'dropped' }
      throw new Error(`${call.operation} within ${timeoutMs} ms: ${String(error)}`, { cause: error })
    }
  }

  const untilFinal: Customer['untilFinal'] = async (call, input, options = {}) => {
    const key = options.idempotencyKey ?? randomUUID()
    const keyed = { ...options, ...(call.spends && { idempotencyKey: key }) }
    const deadline = performance.now() + FINAL_MS
    for (;;) {
      const result = await once(call, input, keyed)
      if (result.kind === 'answer') {
        const { envelope } = result
        if (envelope.status === 'ok' || ERRORS[envelope.code].verdict !== 'retry') return envelope
        if (envelope.code === 'internal') throw new Error(`${call.operation}: ${JSON.stringify(envelope)}`)
      }
      if (performance.now() > deadline) throw new Error(`${call.operation}: ${JSON.stringify(result)}`)
      await new Promise(resolve => setTimeout(resolve, RETRY_MS))
    }
  }

  const data: Customer['data'] = async (call, input, options) => {
    const envelope = await untilFinal(call, input, options)
    if (envelope.status === 'ok') return envelope.data
    throw new Error(`${call.operation}: ${JSON.stringify(envelope)}`)
  }

  const find: Customer['find'] = async instanceId =>
    (await data(listInstances, {})).find(one => one.instance_id === instanceId)

  return {
    userId: who.userId,
    token: who.token ?? '',
    once,
    untilFinal,
    data,
    find,
    at: other => customerOf(other, who),
    balanceCents: async () => (await data(getBalance, {})).account_balance.amount,
    async untilRunning(instanceId) {
      await expect.poll(async () => statusOf(await find(instanceId)), POLL).toBe('running')
      const found = await find(instanceId)
      if (!found) throw new Error(`${instanceId} is gone`)
      return found
    },
  }
}

/** With the reason, so that a test that fails says why. */
function statusOf(instance: Instance | undefined): string {
  if (!instance) return 'gone'
  return instance.reason ? `${instance.status}: ${JSON.stringify(instance.reason)}` : instance.status
}

async function linkTokenOf(guest: Customer, email: string): Promise<string> {
  let token: string | undefined
  await expect
    .poll(async () => {
      const { items } = await guest.data(listMailbox, {})
      const text = items.find(({ to }) => to.includes(email))?.text
      token = /token=([\w-]+)/.exec(text ?? '')?.[1]
      return token
    }, POLL)
    .toBeDefined()
  return token ?? ''
}
