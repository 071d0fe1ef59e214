/** An answer that streams events, and goes on until the test ends it or who asked gives it up. */
export function streamOf<Event>() {
  const encoder = new TextEncoder()
  let to: ReadableStreamDefaultController<Uint8Array> | undefined
  let isOpen = false
  return {
    /** Answers a request. @param signal As the request was sent with. */
    answer(signal: AbortSignal | null): Response {
      const body = new ReadableStream<Uint8Array>({
        start: controller => {
          to = controller
          isOpen = true
          signal?.addEventListener('abort', () => {
            if (isOpen) controller.error(signal.reason)
            isOpen = false
          })
        },
      })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    },
    say: (event: Event) => to?.enqueue(encoder.encode(`:\n\ndata: ${JSON.stringify(event)}\n\n`)),
    end() {
      if (isOpen) to?.close()
      isOpen = false
    },
    isOpen: () => isOpen,
  }
}
