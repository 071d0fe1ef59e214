import type { Call, CallData } from '@berth/contract/call'
import { GATEWAY_PREFIX, LANGUAGE_HEADER } from '@berth/contract/envelope'

/**
 * Follows a call that streams, as a console does. Each event is checked against the contract.
 * @param from Whose it is, and in which language.
 * @param onEvent Told each event as it comes.
 * @throws Error that names the code of a refusal.
 */
export async function followCall<C extends Call>(
  origin: string,
  call: C,
  from: {
    token: string
    params?: Record<string, string>
    query?: Record<string, string>
    language?: string
  },
  onEvent: (event: CallData<C>) => void = () => undefined,
) {
  const abort = new AbortController()
  const path = call.path.replace(/\{(\w+)\}/g, (_, name: string) => from.params?.[name] ?? '')
  const query = from.query ? `?${new URLSearchParams(from.query)}` : ''
  const response = await fetch(origin + GATEWAY_PREFIX + path + query, {
    headers: {
      authorization: `Bearer ${from.token}`,
      ...(from.language !== undefined && { [LANGUAGE_HEADER]: from.language }),
    },
    signal: abort.signal,
  })
  if (!response.ok || !response.body) {
    const { code } = (await response.json()) as { code: string }
    throw new Error(code)
  }
  const events: CallData<C>[] = []
  let comments = 0
  const isOver = read(response.body).catch(() => undefined)

  async function read(body: ReadableStream<Uint8Array>): Promise<void> {
    let rest = ''
    for await (const piece of body.pipeThrough(
      new TextDecoderStream() as never,
    ) as unknown as AsyncIterable<string>) {
      const parts = (rest + piece).split('\n\n')
      rest = parts.pop() ?? ''
      for (const part of parts) hear(part)
    }
  }
  function hear(part: string): void {
    if (!part.startsWith('data: ')) {
      comments += 1
      return
    }
    const event = call.data.parse(JSON.parse(part.slice(6))) as CallData<C>
    events.push(event)
    onEvent(event)
  }

  return {
    headers: response.headers,
    events,
    /** How many signs of life came. */
    comments: () => comments,
    /** The last event, once the answer is over. */
    async last(): Promise<CallData<C> | undefined> {
      await isOver
      return events.at(-1)
    },
    leave: () => abort.abort(),
  }
}
