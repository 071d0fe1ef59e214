import type { Call, CallData, CallInput } from '@berth/contract/call'
import { ERRORS, type ErrorCode } from '@berth/contract/errors'
import { CALL_TIMEOUT_MS } from '@berth/contract/limits'
import { sendCall } from '../start-gateway.ts'
import type { Findings } from './findings.ts'

/** So long the gateways may be away one after the other, on a computer that does much else. */
const FINAL_MS = 120_000
const RETRY_MS = 40

/** What a call came to in the end. */
export type Outcome<Data> = { ok: true; data: Data } | { ok: false; code: ErrorCode }
type Said<Data> = Outcome<Data> | { ok: false; code: 'dropped' }

/** A customer of the run. */
export interface Customer {
  userId: string
  token: string
}

export interface CallerWorld {
  /** Where the gateways are that run now. */
  origins(): string[]
  /** Signs a customer in anew. */
  signIn(userId: string): Promise<string>
  /** What the gateways' logs say of a request, as far as they are still held. */
  saidOf(requestId: string): string
}

/**
 * Makes calls as customers do whose gateways are killed: on another gateway, with the same key, until the answer stands.
 * @param wrong Gets what no call may answer.
 */
export function createCaller(world: CallerWorld, wrong: Pick<Findings, 'add' | 'refused'>) {
  let turn = 0

  /** @throws Error where no gateway gives an answer that stands. */
  async function ask<C extends Call>(
    customer: Customer,
    call: C,
    input: CallInput<C>,
    key: string,
  ): Promise<Outcome<CallData<C>>> {
    const deadline = performance.now() + FINAL_MS
    for (let signedIn = 0; ; ) {
      const said = await once(customer, call, input, key)
      // What a card said stands for its key, though another try may be made; and what is sold out stays so for now.
      if (said.ok) return said
      if (said.code !== 'dropped' && /^(?:payment_failed|card_)|_sold_out$/.test(said.code))
        return refused(call, said.code)
      const needsSignIn = said.code === 'login_expired' || said.code === 'recent_sign_in_required'
      if (needsSignIn && signedIn++ < 3) {
        customer.token = await world.signIn(customer.userId)
        continue
      }
      if (said.code !== 'dropped' && ERRORS[said.code].verdict !== 'retry') return refused(call, said.code)
      if (performance.now() > deadline) throw new Error(`${call.operation} is not answered: ${said.code}`)
      await new Promise(resolve => setTimeout(resolve, RETRY_MS))
    }
  }

  function refused({ operation }: Call, code: ErrorCode) {
    wrong.refused(operation, code)
    return { ok: false, code } as const
  }

  async function once<C extends Call>(
    { token }: Customer,
    call: C,
    input: CallInput<C>,
    key: string,
  ): Promise<Said<CallData<C>>> {
    const origins = world.origins()
    const origin = origins[turn++ % origins.length]
    if (origin === undefined) return { ok: false, code: 'dropped' }
    const options = {
      token,
      idempotencyKey: call.spends ? key : null,
      timeoutMs: CALL_TIMEOUT_MS[call.timeout],
    }
    try {
      const { envelope } = await sendCall(origin, call, input as object, options)
      if (envelope.status === 'ok') return { ok: true, data: envelope.data }
      if (envelope.code === 'internal') {
        // Its log line may still be on the way from that process.
        await new Promise(resolve => setTimeout(resolve, RETRY_MS))
        wrong.add(`${call.operation} answers internal: ${world.saidOf(envelope.request_id)}`)
      }
      return { ok: false, code: envelope.code }
    } catch {
      // There was no connection, or it broke, or it took longer than the console would wait.
      return { ok: false, code: 'dropped' }
    }
  }

  /** Sends the form of a page of the platform, at any gateway. */
  async function sendForm(path: string, form: Record<string, string>): Promise<boolean> {
    const origins = world.origins()
    const origin = origins[turn++ % origins.length]
    try {
      const answer = await fetch(`${origin}${path}`, { method: 'POST', body: new URLSearchParams(form) })
      return answer.ok
    } catch {
      return false
    }
  }

  return { ask, sendForm }
}
export type Caller = ReturnType<typeof createCaller>
