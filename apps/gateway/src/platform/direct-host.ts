import { once } from 'node:events'
import { createServer } from 'node:net'
import { isLoopback } from './http/hosts.ts'

/** Loopback like any address of 127.0.0.0/8, and nobody's usual one. macOS has only the first until it is told. */
export const OTHER_LOOPBACK = '127.0.0.2'
const LOOPBACK = '127.0.0.1'

/**
 * How customers name the address at which direct ports of all instances are reached; null where they do not: without a
 * pool, on a gateway that others reach.
 * @param host The interface that the gateway listens on.
 */
export function directAddress(
  direct: { host: string; name: string | null; ports: object | null },
  host: string,
): string | null {
  return direct.ports !== null || isLoopback(host) ? (direct.name ?? direct.host) : null
}

/**
 * The address of this computer that customers' TCP ports listen on. Browsers send an address's cookies to each of its
 * ports, so it is another one than the console's wherever this computer has another.
 * @param wanted What the operator chose; null for none.
 * @param other The address to look for; tests give another.
 */
export async function findDirectHost(wanted: string | null, other = OTHER_LOOPBACK): Promise<string> {
  if (wanted !== null) return wanted
  const server = createServer()
  try {
    await once(server.listen({ host: other, port: 0 }), 'listening')
    return other
  } catch {
    return LOOPBACK
  } finally {
    server.close()
  }
}
