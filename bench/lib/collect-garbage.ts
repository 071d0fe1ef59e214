import { createServer } from 'node:net'

/** What a Node process is started with, so that it can be asked to collect its garbage; on a port that is free just now. */
export async function collectable(): Promise<{ port: number; env: Record<string, string> }> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  await new Promise(resolve => server.close(resolve))
  return { port, env: { NODE_OPTIONS: `--inspect=127.0.0.1:${port}` } }
}

/**
 * Has a process give back what it does not need any more, so that what is left is what it holds.
 * @param port As `collectable` gave it.
 */
export async function collectGarbage(port: number): Promise<void> {
  const listed = await fetch(`http://127.0.0.1:${port}/json/list`)
  const [target] = (await listed.json()) as { webSocketDebuggerUrl: string }[]
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '')
  await new Promise(resolve => socket.addEventListener('open', resolve))
  for (const id of [1, 2]) {
    const answered = new Promise(resolve => socket.addEventListener('message', resolve, { once: true }))
    socket.send(JSON.stringify({ id, method: 'HeapProfiler.collectGarbage' }))
    await answered
  }
  socket.close()
}
