import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../src/drivers/compute/conformance/tools.ts'

const BINARY = join(process.env.PEERS ?? join(homedir(), '.cache', 'peers'), 'bin', 'stripe-mock')

/** Whether Stripe's own mock of its API is here, or why not. */
export const stripeMockProbe = existsSync(BINARY)
  ? ({ ok: true } as const)
  : ({ ok: false, why: `${BINARY} is not there` } as const)

/** Starts stripe-mock: it knows every parameter of the API and the shape of every answer, and keeps nothing. */
export async function startStripeMock(): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  // Its second port would be on all addresses.
  const args = ['-http-addr', `127.0.0.1:${port}`, '-https-addr', '127.0.0.1:0']
  const child = spawn(BINARY, args, { stdio: 'ignore' })
  const url = `http://127.0.0.1:${port}`
  await eventually(async () => void (await fetch(url)))
  return {
    url,
    async stop() {
      const ended = new Promise(resolve => child.once('exit', resolve))
      child.kill()
      await ended
    },
  }
}
