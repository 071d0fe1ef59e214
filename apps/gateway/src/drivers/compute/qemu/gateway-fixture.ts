/**
 * A stand-in for the gateway that tests may kill or put in another network: opens the engine on the folder that is its
 * first argument, with the further settings that are its second in JSON, and does what each line of its input asks for.
 */
import pino from 'pino'
import type { ImageRecipe } from '../port/images.ts'
import type { MachineSpec } from '../port/machines.ts'
import { offered } from '../port/part.ts'
import { serveOrders } from '../sandbox/orders-fixture.ts'
import { createQemuEngine } from './qemu-engine.ts'

/** One line of input; the answer is one line, too. */
export type VmOrder =
  | { do: 'capabilities' }
  | { do: 'pull'; image: ImageRecipe }
  | { do: 'create'; spec: MachineSpec }
  | { do: 'build'; machine_id: string; image_id: string }
  | { do: 'start' | 'begin' | 'stop' | 'remove'; id: string }

const [dataDir = '', settings = '{}'] = process.argv.slice(2)
const never = new AbortController().signal
const log = pino({ level: 'warn' }, pino.destination(2))
const engine = await createQemuEngine({ dataDir, log, ...JSON.parse(settings) })

await serveOrders<VmOrder>(async order => {
  switch (order.do) {
    case 'capabilities':
      return engine.capabilities
    case 'pull':
      return engine.images.pull(order.image, () => undefined, never)
    case 'create':
      return engine.machines.create(order.spec, never)
    case 'build':
      return offered(engine.images.own).build(order, () => undefined, never)
    default:
      return engine.machines[order.do](order.id, never)
  }
})

// Whoever started it has the machines.
await engine.shutdown({ machines_stay: true })
