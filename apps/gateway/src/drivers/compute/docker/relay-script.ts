/** Between two looks of a relay at whether it is still wanted. */
const LOOK_PAUSE_S = 5
/** A relay in which nobody has had a process for so many looks ends. */
const QUIET_LOOKS_MAX = 3
/** The relay's shell. */
const OWN_PROCESSES = 1
/** Who asks a machine itself is answered at once, by a connection or a refusal, unless a queue there is full. */
const CONNECT_TIMEOUT_S = 3
const PIECE_BYTES_MAX = 64 * 1024

const SEARCH_PATH =
  'PATH=/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin'

/**
 * What a relay runs, by the shell of the engine's computer: nothing, until the machine has ended or nobody has had a
 * process in here for a while. The network of a machine that ends loses its interfaces, though a relay holds it.
 */
export const RELAY_KEEP_SCRIPT = `
${SEARCH_PATH}
trap 'exit 0' TERM INT
interfaces() {
  while read -r name rest; do
    case $name in *:*) echo "\${name%%:*}" ;; esac
  done < /proc/net/dev
}
at_first=$(interfaces)
quiet=0
while [ $quiet -lt ${QUIET_LOOKS_MAX} ]; do
  sleep ${LOOK_PAUSE_S} & wait $! || exit 1
  [ "$(interfaces)" = "$at_first" ] || exit 0
  set -- /proc/[0-9]*
  if [ $# -gt ${OWN_PROCESSES} ]; then quiet=0; else quiet=$((quiet + 1)); fi
done
`

/**
 * One connection to a port, by whichever of two languages the engine's computer has. All is frames: four bytes that say
 * how many follow. The program says \`ready\`; it is told a port and addresses, tries one after the other, and says \`open\`
 * or \`closed\`. From there on frames are what goes over the connection, and an empty one says that a side has finished;
 * nothing is read that is not written on. A line that breaks ends it.
 */
const PERL = `
use strict; use Socket; $SIG{PIPE} = 'IGNORE';
sub take { my ($left, $got) = (@_, ''); while ($left > 0) {
  my $read = sysread(STDIN, $got, $left, length $got) or exit; $left -= $read } $got }
sub frame { take(unpack 'N', take(4)) }
sub put { my ($to, $bytes) = @_; my $at = 0; while ($at < length $bytes) {
  my $put = syswrite($to, $bytes, length($bytes) - $at, $at); return 0 unless defined $put; $at += $put } 1 }
sub report { put(*STDOUT, pack('N/a*', $_[0])) or exit }
report('ready');
my ($port, @places) = split ' ', frame();
my $to; $SIG{ALRM} = sub { report('closed'); exit }; alarm ${CONNECT_TIMEOUT_S};
for my $place (@places) {
  my $is_6 = $place =~ /:/;
  socket(my $try, $is_6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0) or next;
  my $at = $is_6 ? pack_sockaddr_in6($port, Socket::inet_pton(AF_INET6, $place)) : pack_sockaddr_in($port, inet_aton($place));
  if (connect($try, $at)) { $to = $try; last }
}
alarm 0;
unless ($to) { report('closed'); exit }
setsockopt($to, Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1);
report('open');
my $reader = $$; my $writer = fork; exit unless defined $writer;
if ($writer == 0) {
  END { kill 'KILL', $reader if defined $writer && $writer == 0 }
  for (;;) { my $bytes = frame(); if ($bytes eq '') { shutdown $to, 1 } else { put($to, $bytes) or exit } }
}
for (;;) {
  my $read = sysread($to, my $bytes, ${PIECE_BYTES_MAX});
  unless (defined $read) { kill 'KILL', $writer; exit }
  report($bytes);
  last if $read == 0;
}
waitpid $writer, 0;
`

const PYTHON = `
import os, signal, socket, struct, sys
def take(left):
    got = b''
    while left > len(got):
        more = os.read(0, left - len(got))
        if not more: raise SystemExit
        got += more
    return got
def frame(): return take(struct.unpack('>I', take(4))[0])
def report(bytes):
    bytes = struct.pack('>I', len(bytes)) + bytes
    while bytes: bytes = bytes[os.write(1, bytes):]
def connected(port, places):
    for place in places:
        try: return socket.create_connection((place, int(port)), ${CONNECT_TIMEOUT_S})
        except OSError: pass
report(b'ready')
port, *places = frame().decode().split()
to = connected(port, places)
if to is None:
    report(b'closed')
    sys.exit()
to.settimeout(None)
to.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
report(b'open')
reader = os.getpid()
writer = os.fork()
if writer == 0:
    try:
        while True:
            bytes = frame()
            if bytes: to.sendall(bytes)
            else: to.shutdown(socket.SHUT_WR)
    finally:
        os.kill(reader, signal.SIGKILL)
try:
    while True:
        bytes = to.recv(${PIECE_BYTES_MAX})
        report(bytes)
        if not bytes: break
except OSError:
    os.kill(writer, signal.SIGKILL)
    sys.exit()
os.waitpid(writer, 0)
`

/** What a computer says that has neither language, as a frame. */
const NEITHER = "printf '\\000\\000\\000\\007neither'"

/** The command of one connection; it speaks as said above, or says `neither` and ends. */
export const RELAY_CONNECT: readonly string[] = [
  '/bin/sh',
  '-c',
  `${SEARCH_PATH}
if command -v perl > /dev/null; then exec perl -e "$1"
elif command -v python3 > /dev/null; then exec python3 -c "$2"
else ${NEITHER}; fi`,
  'relay',
  PERL,
  PYTHON,
]

/** What comes in one piece, or goes, at most. */
export const RELAY_PIECE_BYTES_MAX = PIECE_BYTES_MAX
