import type { Logger } from 'pino'
import { createLoop } from '../../../platform/loop.ts'
import type { WebhookDelivery } from '../port.ts'
import {
  type BooksDeps,
  firstDueAt,
  giveUp,
  letTimePass,
  noteDelivered,
  takeDueEvents,
} from './testcard-books.ts'
import { SIGNATURE_HEADER, signWebhook } from './testcard-signature.ts'

export interface SenderDeps extends BooksDeps {
  log: Pick<Logger, 'error'>
  webhook_secret: () => Uint8Array
}

/** A round comes when something is due, and so often in any case: another process may have died with what it knew. */
const PAUSE_MS = 5_000
/** What is due now and was not taken is in another process's hands for a moment. */
const DUE_MS_MIN = 100
const ERROR_PAUSE_MS = 1_000
/** A send that is not taken is repeated after this, twice as long each time, up to the most. */
const RETRY_MS = 2_000
const RETRY_MS_MAX = 600_000
const TRIES_MAX = 20

/**
 * Lets the test platform's time pass and sends its webhooks, at least once each. Any number of processes may do so
 * at the same time.
 */
export function createWebhookSender(deps: SenderDeps) {
  let send: ((delivery: WebhookDelivery) => Promise<number>) | null = null
  let nextAt: Date | null = null
  const loop = createLoop({
    name: 'testcard',
    pauseMs: PAUSE_MS,
    errorPauseMs: ERROR_PAUSE_MS,
    atOnce: true,
    log: deps.log,
    async run(signal) {
      nextAt = await firstDueAt(deps)
      if (nextAt === null || nextAt > deps.clock.now()) return
      await letTimePass(deps)
      // What a delivery makes due is sent in the same round.
      while (!signal.aborted && (await sendDue()));
      nextAt = await firstDueAt(deps)
    },
    dueInMs: () => nextAt && Math.max(DUE_MS_MIN, nextAt.getTime() - deps.clock.now().getTime()),
  })

  async function sendDue(): Promise<boolean> {
    if (!send) return false
    const events = await takeDueEvents(deps, tries => Math.min(RETRY_MS * 2 ** tries, RETRY_MS_MAX))
    let again = false
    for (const event of events) {
      const bytes = Buffer.from(event.body)
      const signature = signWebhook(deps.webhook_secret(), bytes, deps.clock.now())
      const status = await send({ body: bytes, headers: { [SIGNATURE_HEADER]: signature } })
      if (status >= 200 && status < 300) {
        if (await noteDelivered(deps, event)) again = true
      } else if (event.tries + 1 >= TRIES_MAX) await giveUp(deps, event)
    }
    return again
  }

  return {
    /** Something may be due now. */
    wake: () => loop.wake(),
    start(to: (delivery: WebhookDelivery) => Promise<number>): { stop(): Promise<void> } {
      send = to
      loop.start()
      return { stop: loop.stop }
    },
  }
}
