import type { Logger } from 'pino'
import type { MachinePaths } from './machine-store.ts'
import { forgetNetwork, type MachineNetwork, type OutboundNetwork } from './outbound-network.ts'

/**
 * Starts a machine in a network of its own that leads to the internet, where machines have that: it is made beside
 * whatever else the start takes.
 * @param machine.uid The host's user id of the machine; null for the gateway's own.
 * @param start Starts the machine's processes; its network is null where machines have no way to the internet.
 * @throws ComputeError where a network cannot be made, and what `start` throws.
 */
export async function joiningNetwork<T>(
  deps: { outbound: OutboundNetwork | null; log: Logger },
  machine: { id: string; paths: MachinePaths; uid: number | null },
  start: (network: Promise<MachineNetwork | null>) => Promise<T>,
): Promise<T> {
  const { run } = machine.paths
  const network = deps.outbound
    ? deps.outbound.make({ run, uid: machine.uid })
    : forgetNetwork(run).then(() => null)
  // Whoever starts the machine hears of it when it asks.
  network.catch(() => undefined)
  try {
    const started = await start(network)
    if ((await (await network)?.isUp()) === false)
      deps.log.warn({ machine: machine.id }, 'a machine starts before its way to the internet is there')
    return started
  } finally {
    // It is the machine's processes that hold the network now, or nobody.
    await network.then(
      made => made?.letGo(),
      () => undefined,
    )
  }
}
