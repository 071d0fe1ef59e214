import { getBalance, topup } from '@berth/contract/billing'
import type { Call, CallInput } from '@berth/contract/call'
import { ERRORS } from '@berth/contract/errors'
import { listInstances } from '@berth/contract/instances'
import { type Customer, type Result, topupInput } from './customer-fixture.ts'

/** What calls may answer while the database is away. */
const CLEAR_FAILURES = new Set(['unavailable', 'payment_pending', 'idempotency_in_progress'])
/** Failed calls are repeated, but not so fast that they are all that the computer does. */
const FAILED_PAUSE_MS = 20

/** Calls that go on and on, side by side, until they are told to end. */
export interface Load {
  /** How many calls worked, and how many failed clearly. */
  count: { worked: number; failed: number }
  /** Keys of top-ups that were answered, and their cents. */
  settled: Map<string, number>
  /** Answers that no call may give. */
  wrong: string[]
  /** Ends it; top-ups that are under way are repeated until they are answered. */
  end(): Promise<void>
}

/**
 * Starts a load of one customer's calls: balance, list, and top-ups that are each repeated with their key.
 * @param options.pauseMs Between an answer and the next call; without one the calls take all that the computer has.
 */
export function startLoad(customer: Customer, { pauseMs = 0 }: { pauseMs?: number } = {}): Load {
  const load = { count: { worked: 0, failed: 0 }, settled: new Map<string, number>(), wrong: [] as string[] }
  let ending = false

  /** True when it worked. */
  async function call<C extends Call>(called: C, input: CallInput<C>, key: string | null): Promise<boolean> {
    const result = await customer
      .once(called, input, { idempotencyKey: key })
      .catch((error: Error) => error.message)
    if (typeof result !== 'string' && isOk(result)) {
      load.count.worked += 1
      if (pauseMs > 0) await pause(pauseMs)
      return true
    }
    load.count.failed += 1
    if (!isClear(result)) load.wrong.push(`${called.operation}: ${JSON.stringify(result)}`)
    await pause(FAILED_PAUSE_MS)
    return false
  }

  async function read(called: typeof getBalance | typeof listInstances): Promise<void> {
    while (!ending) await call(called, {}, null)
  }

  async function pay(payer: number): Promise<void> {
    for (let round = 0; !ending; round++) {
      const [key, cents] = [`load-${payer}-${round}`, 100 + payer]
      while (!(await call(topup, topupInput(cents), key)));
      load.settled.set(key, cents)
    }
  }

  const running = Promise.all([
    ...Array.from({ length: 4 }, () => read(getBalance)),
    ...Array.from({ length: 2 }, () => read(listInstances)),
    ...Array.from({ length: 4 }, (_, payer) => pay(payer)),
  ])
  return {
    ...load,
    async end() {
      ending = true
      await running
    },
  }
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}

function isOk(result: Result<unknown>): boolean {
  return result.kind === 'answer' && result.envelope.status === 'ok'
}

/** A connection that broke, or an envelope that says to try again; a text is an error of the test's own, such as a timeout. */
function isClear(result: Result<unknown> | string): boolean {
  if (typeof result === 'string') return false
  if (result.kind === 'dropped') return true
  const { httpStatus, envelope } = result
  if (envelope.status === 'ok' || !CLEAR_FAILURES.has(envelope.code)) return false
  return httpStatus === ERRORS[envelope.code].http
}
