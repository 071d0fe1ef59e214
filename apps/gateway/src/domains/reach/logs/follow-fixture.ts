import { followInstanceLogs, type LogEvent } from '@berth/contract/instance-page'
import { eventually } from '../reach-fixture.ts'

/** A log that a test follows. */
export type FollowedLog = Awaited<ReturnType<typeof followLog>>

/**
 * Follows a log as a console does.
 * @param token Whose it is, as the fixture's server knows them.
 * @throws Error that names the code of a refusal.
 */
export async function followLog(origin: string, instanceId: string, token: string) {
  const abort = new AbortController()
  const path = followInstanceLogs.path.replace('{id}', instanceId)
  const response = await fetch(`${origin}/gateway${path}`, {
    headers: { authorization: `Bearer ${token}` },
    signal: abort.signal,
  })
  if (!response.ok || !response.body) {
    const { code } = (await response.json()) as { code: string }
    throw new Error(code)
  }
  const events: LogEvent[] = []
  let lines = ''
  let open = ''
  let skipped = 0
  let raw = ''
  const isOver = read(response.body).catch(() => undefined)

  async function read(body: ReadableStream<Uint8Array>): Promise<void> {
    for await (const piece of body.pipeThrough(
      new TextDecoderStream() as never,
    ) as unknown as AsyncIterable<string>) {
      raw += piece
      const parts = raw.split('\n\n')
      raw = parts.pop() ?? ''
      for (const part of parts)
        if (part.startsWith('data: ')) hear(followInstanceLogs.data.parse(JSON.parse(part.slice(6))))
    }
  }
  function hear(event: LogEvent): void {
    events.push(event)
    for (const line of event.lines) lines += `${line}\n`
    open = event.open
    skipped += event.skipped
  }

  const text = () => lines + open
  return {
    type: response.headers.get('content-type'),
    events,
    text,
    skipped: () => skipped,
    shows: (pattern: RegExp) => eventually(`${pattern}`, () => pattern.test(text())),
    /** Why it ended, once it has. */
    async ended(): Promise<LogEvent['ended'] | undefined> {
      await isOver
      return events.at(-1)?.ended
    },
    leave: () => abort.abort(),
  }
}
