/**
 * A stand-in for the gateway in a network of a test's own: makes an engine on the folder that is its first argument,
 * with the launcher and the opened networks that follow, and does what each line of its input asks for.
 */
import pino from 'pino'
import { smallMachine } from '../conformance/small-machine.ts'
import { serveOrders } from './orders-fixture.ts'
import { createSandboxEngine } from './sandbox-engine.ts'

/** One line of input; the answer is one line, too. */
export type Order =
  | { do: 'start' | 'stop' | 'remove' | 'status' | 'sample'; id: string }
  | { do: 'exec'; id: string; argv: string[] }
  | { do: 'capabilities' }

const [dataDir = '', launcher = '', opened = ''] = process.argv.slice(2)
const never = new AbortController().signal
const engine = await createSandboxEngine({
  dataDir,
  log: pino({ level: 'warn' }, pino.destination(2)),
  ...(launcher === 'unshare' ? { launcher } : {}),
  homes: 'folders',
  outbound: { opened: opened.split(',').filter(Boolean) },
})

async function carryOut(order: Order): Promise<unknown> {
  switch (order.do) {
    case 'start':
      await engine.machines.create(smallMachine(order.id, { id: 'host', parts: { sandbox: 'host' } }), never)
      return engine.machines.start(order.id, never)
    case 'stop':
      return engine.machines.stop(order.id, never, { at_once: true })
    case 'remove':
      return engine.machines.remove(order.id, never)
    case 'status':
      return engine.observation.status(order.id)
    case 'sample':
      return engine.observation.sample(order.id)
    case 'exec':
      return engine.console.exec(order.id, order.argv)
    case 'capabilities':
      return engine.capabilities
  }
}

await serveOrders(carryOut)

// Its machines end with it, so that a test that failed leaves none behind.
await engine.shutdown()
