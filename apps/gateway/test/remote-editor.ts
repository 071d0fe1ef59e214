import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** Where an editor's server is put. */
export const EDITOR_FOLDER = '.stand-in-editor'

/**
 * What an editor copies into a machine and starts there: it listens on a port that nobody chose, says which, and outlives
 * whoever started it. A channel names its session on its first line, and hears which server that is and how often it came;
 * what it says from there on is said back.
 */
export const EDITOR_SERVER = `
$| = 1; $SIG{CHLD} = 'IGNORE';
socket(my $server, 2, 1, 0) or die;
bind($server, pack('SnC4x8', 2, 0, 127, 0, 0, 1)) && listen($server, 20) or die "no port: $!";
my (undef, $port) = unpack 'Sn', getsockname $server;
print "listening on $port as $$\\n";
while (accept(my $channel, $server)) {
  if (fork) { close $channel; next }
  select $channel; $| = 1;
  my $session = <$channel>; $session =~ s/\\W//g;
  open my $visits, '>>', "visits-$session" or die; print $visits '.'; close $visits;
  print $channel "server ", getppid, ", visit ", -s "visits-$session", "\\n";
  print $channel $_ while <$channel>;
  exit;
}
`

/**
 * What an editor has the machine's shell read: starts the server where it does not run, and says where it listens. The
 * shell goes on reading, so that the connection and its ways to ports stay.
 * @param archive The name of what was copied, with the server's file `server.pl` in it.
 */
export function startScript(archive: string): string {
  return `cd "$HOME/${EDITOR_FOLDER}" || exit 1
found() { sed -n 's/^listening on //p' log 2>/dev/null; }
alive() { set -- $(found); [ -n "$3" ] && kill -0 "$3" 2>/dev/null; }
if ! alive; then
  tar -xzf ${archive} || exit 1
  : >log
  setsid nohup perl server.pl >log 2>&1 </dev/null &
  until alive; do sleep 0.1; done
fi
set -- $(found)
echo "port==$1== server==$3=="
`
}

/** A port of this computer that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

/** A channel of the editor to its server. */
export interface EditorChannel {
  /** The next line that the server says. @throws Error when the channel has ended. */
  line(): Promise<string>
  say(line: string): void
  /** When it is cut or closed. */
  closed: Promise<unknown>
  close(): void
}

/**
 * Opens a channel to a port of the machine through the SOCKS server that `ssh -D` is (RFC 1928).
 * @throws Error when the way is refused.
 */
export async function openBySocks(socksPort: number, host: string, port: number): Promise<EditorChannel> {
  const socket = connect(socksPort, '127.0.0.1')
  await once(socket, 'connect')
  const read = reader(socket)
  socket.write(Buffer.from([5, 1, 0]))
  const greeting = await read.bytes(2)
  if (greeting[1] !== 0) throw new Error('the SOCKS server wants a password')
  const name = Buffer.from(host)
  socket.write(Buffer.from([5, 1, 0, 3, name.length, ...name, port >> 8, port & 0xff]))
  const answer = await read.bytes(10)
  if (answer[1] !== 0) {
    socket.destroy()
    throw new Error(`refused with ${answer[1]}`)
  }
  return channelOf(socket, read)
}

/** Opens a channel through a port that `ssh -L` listens on. */
export async function openByPort(port: number): Promise<EditorChannel> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return channelOf(socket, reader(socket))
}

function channelOf(socket: Socket, read: ReturnType<typeof reader>): EditorChannel {
  return {
    line: async () => (await read.until('\n')).toString(),
    say: line => void socket.write(`${line}\n`),
    closed: new Promise(resolve => socket.once('close', resolve)),
    close: () => socket.destroy(),
  }
}

/** Reads a socket by counts and lines. */
function reader(socket: Socket) {
  let held: Buffer = Buffer.alloc(0)
  let wake = () => {}
  let isOver = false
  socket.on('data', (piece: Buffer) => {
    held = Buffer.concat([held, piece])
    wake()
  })
  socket.on('error', () => socket.destroy())
  socket.once('close', () => {
    isOver = true
    wake()
  })
  /** @param lengthOf How much of what is there is asked for; 0: not all of it has come. */
  async function take(lengthOf: () => number): Promise<Buffer> {
    for (;;) {
      const length = lengthOf()
      if (length > 0) {
        const taken = held.subarray(0, length)
        held = held.subarray(length)
        return taken
      }
      if (isOver) throw new Error('the channel has ended')
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  }
  return {
    bytes: (count: number) => take(() => (held.length >= count ? count : 0)),
    until: (end: string) => take(() => held.indexOf(end) + 1),
  }
}
