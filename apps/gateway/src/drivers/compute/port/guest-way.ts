import { Duplex } from 'node:stream'
import type { ClientChannel } from 'ssh2'
import type { Outlet } from './ssh-outlet.ts'

/**
 * A way to a port that the machine's SSH server opens, as any stream into a machine is.
 * @param outlet Where what is written to the port goes.
 */
export function guestWay(channel: ClientChannel, outlet: Outlet): Duplex {
  const way = new Duplex({
    read: () => void channel.resume(),
    write(piece, _, done) {
      if (channel.writable) channel.write(piece, () => outlet.whenRoom(() => done()))
      else done()
    },
    final(done) {
      channel.end()
      done()
    },
    destroy(error, done) {
      channel.destroy()
      // What still comes is for nobody.
      channel.resume()
      done(error)
    },
  })
  channel.on('error', () => way.destroy())
  channel.on('data', (piece: Buffer) => {
    if (!way.destroyed && !way.push(piece)) channel.pause()
  })
  channel.once('end', () => {
    if (!way.destroyed) way.push(null)
  })
  channel.once('close', () => {
    // What it said last may not be read yet.
    if (way.readableEnded) way.destroy()
    else way.once('end', () => way.destroy())
  })
  return way
}
