import { shellQuote as q } from './enter-script.ts'
import { INNER_NETWORK } from './network-rules.ts'
import { LOOPBACK_UP } from './unshare-launcher.ts'

/** Connections and conversations by datagrams that one machine may have to the internet at a time. */
const SOCKETS_MAX = 1_024
/** Of the helper, which keeps what the other side is slow to take: up to 256 KiB for a connection. */
const HELPER_MEMORY_KIB_MAX = 512 * 1_024
/** Between the end of a helper and the next one: this, then twice as long each time. */
const PAUSE_FIRST_S = 1
const PAUSE_MAX_S = 60
const MTU_BYTES = 65_520
const INTERFACE = 'tap0'

/** What the keeper of a machine's network says, in its run folder. */
export const NETWORK_REPORT = 'network'

/**
 * Makes a network with the rules (`$1`) and no way out, as root of a user namespace of its own, and stays until its
 * input ends. Who has a machine's processes is not in that namespace, and has no rights over the network.
 */
export const HOLD_SCRIPT = `
set -e
${LOOPBACK_UP}
(echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start) 2>/dev/null || :
printf '%s' "$1" | nft -f -
echo ready
exec cat > /dev/null
`

/**
 * The helper that takes what the machine sends to sockets of this computer, in slirp4netns' own walls: it sees nothing
 * of this computer's files but /etc and /run, has no rights, and a filter of system calls.
 */
function helper(options: { ipv6: boolean }): string {
  const flags = [
    '--configure',
    `--mtu=${MTU_BYTES}`,
    `--cidr=${INNER_NETWORK.ipv4}`,
    ...(options.ipv6 ? ['--enable-ipv6'] : []),
    '--disable-host-loopback',
    '--enable-sandbox',
    '--enable-seccomp',
    '--netns-type=path',
    // It ends when the machine's first process no longer holds the other end, and says 1 when the network is up.
    '--exit-fd=7',
    '--ready-fd=8',
  ]
  return `slirp4netns ${flags.join(' ')} /proc/self/fd/9 ${INTERFACE}`
}

/**
 * Keeps the helper running as long as the machine does. Says its own id, then 1 for a network that is up and 0 for one
 * that is not. Waiting for the end of file 7 is what tells a helper's death from its machine's.
 */
function keeper(options: { ipv6: boolean }): string {
  return `
echo "$$" >&8
exec 3>&- 4>&- 5>&- 6>&-
ulimit -c 0
ulimit -n ${SOCKETS_MAX}
ulimit -v ${HELPER_MEMORY_KIB_MAX}
pause=${PAUSE_FIRST_S}
while :; do
  ${helper(options)}
  printf 0 >&8
  timeout "$pause" cat <&7 && exit
  [ "$?" = 124 ] || exit
  pause=$((pause * 2))
  [ "$pause" -le ${PAUSE_MAX_S} ] || pause=${PAUSE_MAX_S}
done
`
}

/**
 * What goes before a launcher's own arguments so that the machine is in the network of a holder, and a helper brings it
 * to the internet. Open files: 7 is held by the machine's first process (`first-process.sh`), where its name can be
 * read, which therefore says nothing.
 * @param machine.uid The host's user id of the machine, which the helper gets; null for the gateway's own.
 */
export function attaching(machine: {
  run: string
  uid: number | null
  holder_pid: number
  ipv6: boolean
}): string[] {
  const { uid, ipv6 } = machine
  const drop = ['setpriv', '--no-new-privs', '--inh-caps=-all', '--bounding-set=-all']
  const become =
    uid === null
      ? ['setpriv', '--no-new-privs']
      : [...drop, `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups']
  // Who is not root enters the user namespace as well: there it has the right to enter the network.
  const join = uid === null ? '--preserve-credentials --user="/proc/$holder/ns/user"' : ''
  const script = `
run=$1; holder=$2; shift 2
life=$(mktemp -u) && mkfifo -m 600 "$life" || exit 1
: > "$run/${NETWORK_REPORT}" || exit 1
exec 7<> "$life"
exec 8< "$life" 7> "$life"
rm -f "$life"
(
  exec 7<&8 3< "/proc/$holder/ns/user" 9< "/proc/$holder/ns/net"
  exec 8>> "$run/${NETWORK_REPORT}"
  exec ${become.join(' ')} -- nsenter --user=/proc/self/fd/3 --preserve-credentials -- /bin/sh -c ${q(keeper({ ipv6 }))}
) < /dev/null > /dev/null 2>&1 &
exec 8<&-
exec nsenter ${join} --net="/proc/$holder/ns/net" -- "$@"
`
  return ['/bin/sh', '-c', script, 'berth', machine.run, String(machine.holder_pid)]
}
