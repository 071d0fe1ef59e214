import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { heldBytes } from '../../../../test/held-bytes.ts'
import { openDatagrams } from '../port/datagram-line.ts'
import { lackOf, offered } from '../port/part.ts'
import { eventually, expectCode, never, type Subject, text } from './tools.ts'

/** How much may be under way while nobody reads. */
const UNDER_WAY_BYTES_MAX = 8 * 1024 * 1024
/** Of a megabyte each: more than all buffers on the way hold. */
const PIECES = 64

/** How every driver reaches what listens in a machine. */
export function describeNetwork(subject: Subject): void {
  subject.inside(
    '[B1] a port in the machine can be talked to, with half-closed connections and many bytes',
    async () => {
      const engine = subject.engine()
      const { id } = await subject.running({ ports: [8080] })
      await expectCode(engine.network.connect(id, 8080), 'port_closed')
      await text(engine, id, `setsid perl -e '${ECHO_SERVER}' 8080 > /dev/null 2>&1 &`)
      await eventually(async () => {
        const probe = await engine.network.connect(id, 8080)
        probe.destroy()
      })
      const stream = await engine.network.connect(id, 8080)
      const sent = randomBytes(3_000_000)
      const received: Buffer[] = []
      stream.on('data', chunk => received.push(chunk))
      const ended = new Promise(resolve => stream.on('end', resolve))
      stream.end(sent)
      await ended
      expect(Buffer.concat(received).equals(sent)).toBe(true)
    },
  )

  subject.inside(
    '[R2.23] a port on the machine’s loopback alone is reached, by many at once, with all that goes over it',
    async () => {
      const engine = subject.engine()
      const { id } = await subject.running()
      const listener = `setsid perl -e '${LOOPBACK_SERVER}' 8765 > /dev/null 2>&1 &`
      await text(engine, id, listener)
      await eventually(async () => (await engine.network.connect(id, 8765)).destroy())
      const sizes = [0, 1, 70_000, 3_000_000]
      await Promise.all(
        sizes.map(async size => {
          const sent = randomBytes(size)
          const stream = await engine.network.connect(id, 8765)
          const received: Buffer[] = []
          stream.on('data', chunk => received.push(chunk))
          const ended = new Promise(resolve => stream.on('end', resolve))
          stream.end(sent)
          await ended
          expect(Buffer.concat(received).equals(sent)).toBe(true)
        }),
      )
      await expectCode(engine.network.connect(id, 8766), 'port_closed')
      // Whoever does not read holds the machine up, and whoever leaves is gone in there, too.
      const slow = await engine.network.connect(id, 8765)
      const before = heldBytes()
      const piece = Buffer.alloc(1024 * 1024)
      let written = 0
      const more = () => {
        while (written < PIECES && slow.write(piece)) written++
      }
      slow.on('drain', more)
      more()
      for (let turn = 0; turn < 20; turn++) await text(engine, id, 'sleep 0.05')
      expect(heldBytes() - before).toBeLessThan(UNDER_WAY_BYTES_MAX)
      expect(written).toBeLessThan(PIECES)
      slow.destroy()
      await eventually(async () =>
        expect(await text(engine, id, 'cat /proc/net/tcp')).not.toMatch(/0100007F:223D \S+ 01 /),
      )
      await engine.machines.stop(id, never)
      await expectCode(engine.network.connect(id, 8765), 'not_running')
      await engine.machines.start(id, never)
      await expectCode(engine.network.connect(id, 8765), 'port_closed')
      await text(engine, id, listener)
      await eventually(async () => (await engine.network.connect(id, 8765)).destroy())
    },
  )

  describeDatagrams(subject)
}

/** How every driver that carries datagrams does so. */
export function describeDatagrams(subject: Subject): void {
  test('a machine that does not run, or is not there, is reached by no datagram', async ctx => {
    const { udp } = subject.engine().network
    const why = lackOf(udp)
    if (why !== null) return ctx.skip(why)
    const spec = subject.spec({ udp_ports: [5353] })
    await expectCode(offered(udp).open(spec.id, 5353), 'not_found')
    await subject.engine().machines.create(spec, new AbortController().signal)
    await expectCode(offered(udp).open(spec.id, 5353), 'not_running')
  })

  subject.inside('datagrams go to a UDP port in the machine and come back, whole and apart', async ctx => {
    const { udp } = subject.engine().network
    const why = lackOf(udp)
    if (why !== null) return ctx.skip(why)
    const { id } = await subject.running({ udp_ports: [5353] })
    await text(subject.engine(), id, `setsid perl -e '${UDP_ECHO}' 5353 > /dev/null 2>&1 &`)
    const open = async () => openDatagrams(await offered(udp).open(id, 5353))
    const [one, two] = await Promise.all([open(), open()])
    const heard: [string, string][] = []
    one.onDatagram(datagram => heard.push(['one', datagram.toString('hex')]))
    two.onDatagram(datagram => heard.push(['two', datagram.toString('hex')]))
    const datagrams = [randomBytes(1), randomBytes(1200)]
    await eventually(() => {
      // Some may be lost before anybody listens, as anywhere.
      for (const datagram of datagrams) one.send(datagram)
      for (const datagram of datagrams) expect(heard).toContainEqual(['one', datagram.toString('hex')])
    })
    expect(heard.every(([who]) => who === 'one')).toBe(true)
    one.close()
    two.close()
  })
}

/** Sends back what it gets on the port that is its argument, until the other side has finished. */
const ECHO_SERVER =
  'socket(S,2,1,0);setsockopt(S,1,2,pack("i",1));bind(S,pack("Sna4x8",2,$ARGV[0],"\\0\\0\\0\\0"))or die;listen(S,9);' +
  'while(accept(C,S)){while(sysread(C,$b,65536)){for($o=0;$o<length $b;){$o+=syswrite(C,$b,65536,$o)}}close C}'

/** The same on the loopback alone, for many at a time. */
const LOOPBACK_SERVER =
  '$SIG{CHLD}="IGNORE";socket(S,2,1,0);setsockopt(S,1,2,pack("i",1));bind(S,pack("SnC4x8",2,$ARGV[0],127,0,0,1))or die;' +
  'listen(S,9);while(accept(C,S)){if(fork){close C;next}while(sysread(C,$b,65536)){for($o=0;$o<length $b;)' +
  '{$w=syswrite(C,$b,65536,$o)or exit;$o+=$w}}exit}'

/** Sends each datagram back to where it came from. */
const UDP_ECHO =
  'socket(S,2,2,0);bind(S,pack("Sna4x8",2,$ARGV[0],"\\0\\0\\0\\0"))or die;' +
  'while(defined($from=recv(S,$b,65536,0))){send(S,$b,0,$from)}'
