import { topup } from '@berth/contract/billing'
import { deployInstance, terminateInstance } from '@berth/contract/instances'
import { type Customer, deployInput, topupInput } from './customer-fixture.ts'

/** Something that a customer asked for once, by one key, and asks for again until it is answered. */
export interface Order {
  kind: 'topup' | 'deploy'
  key: string
  /** Cents of a top-up. */
  cents: number
  /** Id of the instance that a deploy answered with; empty for a top-up. */
  instanceId: string
  answered: boolean
  done: Promise<void>
}

/** All that a customer asked for in one run. */
export interface Orders {
  all: readonly Order[]
  /** Instances that were deployed and are not asked to go, oldest first. */
  kept: readonly string[]
  topUp(cents: number): Order
  deploy(): Order
  /** Asks for an instance to be deleted; goes on in the background. */
  terminate(instanceId: string): void
  /** When everything is answered. @throws what went wrong with any of it. */
  settled(): Promise<void>
}

/** Keeps a customer's orders; each goes on in the background over any number of restarts. */
export function createOrders(customer: Customer): Orders {
  const all: Order[] = []
  const kept: string[] = []
  const leaving: Promise<void>[] = []

  function place(order: Pick<Order, 'kind' | 'cents'>, run: (order: Order) => Promise<void>): Order {
    const placed: Order = {
      ...order,
      key: `${order.kind}-${all.length}-by-test`,
      instanceId: '',
      answered: false,
      done: Promise.resolve(),
    }
    placed.done = run(placed).then(() => {
      placed.answered = true
    })
    // It is looked at in the end; until then it must not end the run.
    placed.done.catch(() => {})
    all.push(placed)
    return placed
  }

  return {
    all,
    kept,
    topUp: cents =>
      place({ kind: 'topup', cents }, async ({ key }) => {
        const { amount, status } = await customer.data(topup, topupInput(cents), { idempotencyKey: key })
        if (amount !== cents || status !== 'settled') throw new Error(`${key}: ${status} ${amount}`)
      }),
    deploy: () =>
      place({ kind: 'deploy', cents: 0 }, async order => {
        const { key } = order
        const { instance_id } = await customer.data(deployInstance, deployInput(key), { idempotencyKey: key })
        order.instanceId = instance_id
        kept.push(instance_id)
      }),
    terminate(instanceId) {
      kept.splice(kept.indexOf(instanceId), 1)
      const leave = customer.untilFinal(terminateInstance, { params: { id: instanceId } }).then(envelope => {
        // It is gone when an earlier try did it whose answer was lost.
        if (envelope.status === 'error' && envelope.code !== 'not_found')
          throw new Error(`${instanceId}: ${envelope.code}`)
      })
      leave.catch(() => {})
      leaving.push(leave)
    },
    async settled() {
      await Promise.all([...all.map(({ done }) => done), ...leaving])
    },
  }
}
