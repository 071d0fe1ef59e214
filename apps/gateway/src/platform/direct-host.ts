import { once } from 'node:events'
import { createServer } from 'node:net'

/** Loopback like any address of 127.0.0.0/8, and nobody's usual one. macOS has only the first until it is told. */
export const OTHER_LOOPBACK = '127.0.0.2'
const LOOPBACK = '127.0.0.1'

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
