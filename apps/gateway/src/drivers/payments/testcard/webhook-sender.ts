import type { Logger } from 'pino'
import type { WebhookDelivery } from '../port.ts'
import { type BooksDeps, giveUp, letTimePass, noteDelivered, takeDueEvents } from './testcard-books.ts'
import { SIGNATURE_HEADER, signWebhook } from './testcard-signature.ts'

export interface SenderDeps extends BooksDeps {
  log: Pick<Logger, 'error'>
  webhook_secret: () => Uint8Array
}

/** Pause between two rounds; what somebody waits for is sent at once besides. */
const PAUSE_MS = 1_000
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
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  let stopped = false

  async function round(): Promise<void> {
    try {
      await letTimePass(deps)
      // What a delivery makes due is sent in the same round.
      while (!stopped && (await sendDue()));
    } catch (error) {
      deps.log.error({ err: error }, 'the test-card platform could not work; it tries again')
    }
  }

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

  function schedule(pauseMs: number): void {
    if (stopped) return
    clearTimeout(timer)
    timer = setTimeout(() => {
      running = running.then(round).then(() => schedule(PAUSE_MS))
    }, pauseMs)
  }

  return {
    /** Something may be due now. */
    wake(): void {
      if (send) schedule(0)
    },
    start(to: (delivery: WebhookDelivery) => Promise<number>): { stop(): Promise<void> } {
      send = to
      schedule(0)
      return {
        async stop() {
          stopped = true
          clearTimeout(timer)
          await running
        },
      }
    },
  }
}
