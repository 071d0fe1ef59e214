import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { READ_AHEAD } from '../../../../platform/read-ahead.ts'

/** Pairs of sockets that are joined: what is written to one is read from the other. */
export interface SocketPairs {
  /** @returns One to use here, and one that nothing was read of, to be handed over. */
  open(): Promise<{ near: Socket; far: Socket }>
  close(): void
}

/** Makes pairs when they are asked for: Node has none of the kernel's own, so they come by a socket in a folder of ours. */
export function createSocketPairs(): SocketPairs {
  let listening: Promise<{ server: Server; folder: string }> | null = null
  /** One at a time, so that both ends are of one pair. */
  let last: Promise<unknown> = Promise.resolve()

  async function listen() {
    // Nobody else may enter it.
    const folder = mkdtempSync(join(tmpdir(), 'berth-ssh-'))
    const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }).unref()
    server.listen(join(folder, 'pairs'))
    await once(server, 'listening')
    return { server, folder }
  }
  async function makePair() {
    listening ??= listen()
    listening.catch(() => {
      listening = null
    })
    const { server, folder } = await listening
    const near = connect({ path: join(folder, 'pairs'), allowHalfOpen: true, ...READ_AHEAD })
    near.on('error', () => near.destroy())
    const [far] = (await Promise.race([
      once(server, 'connection'),
      once(near, 'close').then(() => Promise.reject(new Error('no pair of sockets could be made'))),
    ])) as [Socket]
    return { near, far }
  }

  return {
    open() {
      const made = last.then(makePair)
      last = made.catch(() => undefined)
      return made
    },
    close() {
      listening?.then(
        ({ server, folder }) => {
          server.close()
          rmSync(folder, { recursive: true, force: true })
        },
        () => undefined,
      )
      listening = null
    },
  }
}
