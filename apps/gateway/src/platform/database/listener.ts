import { Client, escapeIdentifier } from 'pg'
import type { Logger } from 'pino'

/** Pauses between tries to connect again. */
const RECONNECT_MS = [100, 250, 500, 1_000, 2_000]
const CONNECT_TIMEOUT_MS = 3_000

export interface Listener {
  /**
   * Hears what is notified on a channel.
   * @param onPayload Is called with each payload. It must not throw.
   * @param onGap Is called after the connection was lost and made again: what was notified meanwhile is lost, so
   *   look at the tables instead.
   * @returns The way to stop.
   */
  listen(channel: string, onPayload: (payload: string) => void, onGap?: () => void): Promise<() => void>
  close(): Promise<void>
}

interface Subscription {
  channel: string
  onPayload: (payload: string) => void
  onGap: (() => void) | undefined
}

/**
 * Makes a listener: one connection for all channels, opened at the first `listen` and made again when it breaks.
 */
export function createListener(options: { url: string; log: Pick<Logger, 'warn' | 'info'> }): Listener {
  const subscriptions = new Set<Subscription>()
  let client: Client | null = null
  let opening: Promise<void> | null = null
  let timer: NodeJS.Timeout | null = null
  let failures = 0
  let closed = false

  async function open(): Promise<void> {
    const next = new Client({
      connectionString: options.url,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      application_name: 'berth-listen',
    })
    next.on('error', error => lose(next, error))
    next.on('end', () => lose(next, null))
    next.on('notification', ({ channel, payload }) => {
      for (const one of subscriptions) if (one.channel === channel) one.onPayload(payload ?? '')
    })
    try {
      await next.connect()
      for (const channel of new Set([...subscriptions].map(one => one.channel))) {
        await next.query(`listen ${escapeIdentifier(channel)}`)
      }
    } catch (error) {
      next.end().catch(() => {})
      throw error
    }
    client = next
    failures = 0
  }

  function lose(lost: Client, error: Error | null): void {
    if (client !== lost || closed) return
    client = null
    options.log.warn({ err: error }, 'the database connection for notifications broke')
    lost.end().catch(() => {})
    retryLater()
  }

  function retryLater(): void {
    if (timer || closed) return
    timer = setTimeout(
      () => {
        timer = null
        ensureOpen().then(
          () => {
            for (const one of subscriptions) one.onGap?.()
          },
          () => retryLater(),
        )
      },
      RECONNECT_MS[Math.min(failures++, RECONNECT_MS.length - 1)],
    )
    timer.unref()
  }

  function ensureOpen(): Promise<void> {
    if (client || closed) return Promise.resolve()
    opening ??= open().finally(() => {
      opening = null
    })
    return opening
  }

  let asking: Promise<void> = Promise.resolve()

  return {
    async listen(channel, onPayload, onGap) {
      const subscription = { channel, onPayload, onGap }
      subscriptions.add(subscription)
      // A connection on its way may have read the list of channels before this one was on it. One after the other: a
      // client is asked nothing more before it has answered.
      asking = asking
        .then(ensureOpen)
        .then(() => client?.query(`listen ${escapeIdentifier(channel)}`))
        .then(
          () => undefined,
          () => retryLater(),
        )
      await asking
      return () => {
        subscriptions.delete(subscription)
      }
    },
    async close() {
      closed = true
      if (timer) clearTimeout(timer)
      await opening?.catch(() => {})
      await client?.end().catch(() => {})
    },
  }
}
