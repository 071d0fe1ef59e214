import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below those that kernels give to whoever asks for any port, or connects to somewhere: nobody but another test that
 * draws the same number takes one of these, not before it is used and not while a server that had it starts again.
 */
const PORTS = { from: 20_000, to: 32_000 }
const TRIES_MAX = 100

/**
 * Finds a TCP port of 127.0.0.1 for a program that cannot choose one itself, or has to come back to it.
 * @throws Error where there is none.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const port = randomInt(PORTS.from, PORTS.to)
    if (await isFree(port)) return port
  }
  throw new Error('No free port.')
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
    return true
  } catch {
    return false
  } finally {
    await new Promise(resolve => server.close(resolve))
  }
}
