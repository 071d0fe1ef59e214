import type { Duplex } from 'node:stream'
import { ComputeError } from '../port/compute-error.ts'
import { lineOf } from '../sessions/datagram-line.ts'
import { openUdpSocket } from '../sessions/udp-socket.ts'
import type { ReachedPod } from './kube-ports.ts'

interface Way {
  machine: string
  uid: string
  line: Duplex
}

/**
 * Ways for datagrams to the addresses of pods, from a gateway in their network, each no longer open than the pod that it was
 * opened to. The network gives an address to another pod when one is gone: so pods are watched for as long as a way is open.
 * What is on the way while a pod ends may still be lost, or found by the next one at that address.
 * @param deps.running The pod of a machine that runs. Fails with `not_found` or `not_running`.
 * @param deps.watch Tells of machines whose pods have changed, and each time that it begins to hear, since something may have been
 *   missed. Returns the way to stop.
 */
export function createKubeDatagrams(deps: {
  running(machine: string): Promise<ReachedPod>
  watch(onChange: (machine: string) => void, onHearing: () => void): () => void
}) {
  const ways = new Set<Way>()
  let stopWatching: (() => void) | null = null

  /** Ends a way to a pod that is over, or that nobody can say anything of. */
  async function lookAt(way: Way): Promise<void> {
    const now = await deps.running(way.machine).catch(() => null)
    if (now?.uid !== way.uid) way.line.destroy()
  }

  function keep(way: Way): void {
    ways.add(way)
    stopWatching ??= deps.watch(
      machine => {
        for (const one of ways) if (one.machine === machine) void lookAt(one)
      },
      () => {
        for (const one of ways) void lookAt(one)
      },
    )
    way.line.once('close', () => {
      ways.delete(way)
      if (ways.size > 0) return
      stopWatching?.()
      stopWatching = null
    })
  }

  return {
    /**
     * Opens a way, whether or not anything listens there.
     * @throws ComputeError `not_found`, `not_running`, `engine_unavailable`.
     */
    async open(machine: string, port: number): Promise<Duplex> {
      const { address, uid } = await deps.running(machine)
      if (address === null) throw new ComputeError('not_running', `${machine} has no address yet`)
      const line = lineOf(await openUdpSocket(address, port))
      keep({ machine, uid, line })
      return line
    },
    close(): void {
      for (const { line } of ways) line.destroy()
    },
  }
}
