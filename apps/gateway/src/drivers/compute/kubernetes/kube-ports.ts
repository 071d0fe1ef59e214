import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ComputeError } from '../port/compute-error.ts'
import type { PodPlace } from './kube-exec.ts'
import type { KubeLink } from './kube-link.ts'
import { pathOf } from './kube-names.ts'
import { openTunnel } from './spdy-tunnel.ts'

const PROTOCOL = 'portforward.k8s.io'
/** Nobody says that a port is open: only that it is not, and that within moments. */
const REFUSAL_MS = 200
/** So long it is believed of a port that it is open, since a connection to it was. */
const OPEN_KEPT_MS = 10_000
const OPEN_PORTS_MAX = 10_000
const DIAL_TIMEOUT_MS = 5_000

/** A machine's pod as it is reached. */
export interface ReachedPod extends PodPlace {
  uid: string
  /** Null where it has none yet. */
  address: string | null
}

/**
 * Ways to ports of pods: by their address where the gateway is in their network, and through the API server and the node,
 * from within the pod, where its loopback is, too.
 */
export function createKubePorts(link: KubeLink, options: { reaches_pods: boolean }) {
  const open = new Map<string, number>()

  async function throughServer(pod: ReachedPod, port: number): Promise<Duplex> {
    const path = `${pathOf('pods', pod.namespace, pod.pod)}/portforward`
    const line = await link.upgrade(path, PROTOCOL)
    const { stream, onTrouble } = openTunnel(line, port)
    const key = `${pod.uid}:${port}`
    stream.on('error', () => stream.destroy())
    const told = Promise.withResolvers<string | null>()
    onTrouble(told.resolve)
    // A server that speaks first is there.
    const onReadable = () => stream.readableLength > 0 && told.resolve(null)
    stream.on('readable', onReadable)
    if (performance.now() - (open.get(key) ?? Number.NEGATIVE_INFINITY) < OPEN_KEPT_MS) told.resolve(null)
    const timer = setTimeout(told.resolve, REFUSAL_MS, null)
    const said = await told.promise
    clearTimeout(timer)
    stream.off('readable', onReadable)
    if (said === null) {
      if (open.size >= OPEN_PORTS_MAX) open.clear()
      open.set(key, performance.now())
      onTrouble(trouble => {
        if (trouble === null) return
        open.delete(key)
        stream.destroy()
      })
      return stream
    }
    open.delete(key)
    stream.destroy()
    if (/connection refused|failed to (connect|dial)/i.test(said)) throw closed(port)
    throw new ComputeError('failed', `port ${port} was not reached: ${said.slice(0, 300)}`)
  }

  return {
    /**
     * Opens a TCP stream to a port.
     * @throws ComputeError `port_closed` where nothing listens, and as `KubeLink.upgrade` does.
     */
    async connect(pod: ReachedPod, port: number): Promise<Duplex> {
      if (options.reaches_pods && pod.address !== null) {
        const socket = await dial(pod.address, port)
        if (socket) return socket
      }
      return await throughServer(pod, port)
    },
  }
}

function dial(host: string, port: number): Promise<Socket | null> {
  return new Promise(resolve => {
    const socket = connect({ host, port, allowHalfOpen: true, noDelay: true, timeout: DIAL_TIMEOUT_MS })
    socket.once('connect', () => {
      socket.setTimeout(0)
      socket.removeAllListeners('error')
      socket.on('error', () => socket.destroy())
      resolve(socket)
    })
    socket.once('timeout', () => socket.destroy())
    socket.once('close', () => resolve(null))
    socket.on('error', () => resolve(null))
  })
}

const closed = (port: number) => new ComputeError('port_closed', `nothing listens on port ${port}`)
