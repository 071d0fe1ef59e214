import { connect } from 'node:net'

/**
 * Begins a put by an address that is signed, sends some of its body, and hangs up.
 * @param options.meanwhile What is done before it hangs up.
 */
export async function cutPut(
  url: URL,
  body: Uint8Array,
  options: { bytes: number; meanwhile?: () => Promise<void> },
): Promise<void> {
  const socket = connect(Number(url.port), url.hostname)
  socket.on('error', () => undefined)
  const closed = new Promise(resolve => socket.once('close', resolve))
  const sent = Promise.withResolvers<void>()
  socket.write(
    `PUT ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Length: ${body.length}\r\n\r\n`,
  )
  socket.write(body.subarray(0, options.bytes), () => sent.resolve())
  await sent.promise
  await options.meanwhile?.()
  socket.destroy()
  await closed
}
