/**
 * The last steps into a machine, the same for every launcher: a shell script that runs as the machine's first
 * process, sees the finished root view, and still has the rights that making it took. It gives them all up
 * and becomes `agent/first-process.sh`.
 *
 * A gateway that runs as root gives each machine a user id of its own. That id becomes root of a user
 * namespace here, after the mounts were made by real root; so what the machine calls root is nobody outside.
 */

import { asRootOf, RIGHTS_OVER_USERS, usersFrom } from './machine-users.ts'

/** Most processes and threads that a machine may have, against fork bombs. */
export const PROCESSES_MAX = 4096

export interface EnterOptions {
  /**
   * The host's user id to become, with those that follow where it begins a range of them, or null to stay the gateway's
   * own, which is mapped to root already.
   */
  uid: number | null
  processesMax: number
  /** Shell words that put the filter of system calls over what follows them; null where there is none. */
  filter: string | null
  /** The computer's own network, by the kernel's name for it: nothing of a machine begins in there. */
  host_network: string
  /** Where the machine's root came from an image: what is otherwise then. */
  image?: {
    /** Who its programs are to themselves. To the kernel it is one and the same user, where it has no range of them. */
    user: { uid: number; gid: number }
    /** Where `uid` is null: whether the launcher has made the gateway's own user that one already. */
    mapped?: boolean
    /** What runs a shell there: an image may have none, or another one by that name. */
    shell: string[]
  }
}

/** What entering an image's root takes, which the filter's words give up. */
const RIGHTS_TO_ENTER_ROOT = ['sys_chroot', 'setpcap']

/**
 * In a user namespace of its own a process has every right over what it makes there, and with them reaches parts of
 * the kernel that are closed to it otherwise. So nobody makes another one below this; only who has rights over this
 * one could take that back. Asked first is whether this is one with the machine's users: not the computer's own.
 */
const noMoreUsers = (count: number) =>
  `read -r _ _ users < /proc/self/uid_map; [ "$users" = ${count} ] && (echo 0 > /proc/sys/user/max_user_namespaces) 2>/dev/null`

/** Before there are users to count them of: the limit is then one on the processes of all. */
const limitProcesses = (max: number) =>
  `(ulimit -p ${max}) 2>/dev/null && ulimit -p ${max} || ulimit -u ${max} 2>/dev/null || :`

/** The script that a launcher runs last, as `sh -c <script> berth <command...>`. */
export function enterScript(options: EnterOptions): string {
  const { uid, image, processesMax } = options
  const users = uid === null ? 1 : usersFrom(uid)
  const rights = [
    ...(image ? RIGHTS_TO_ENTER_ROOT : []),
    ...(users > 1 ? Object.keys(RIGHTS_OVER_USERS) : []),
  ]
  const kept = ['-all', ...rights.map(right => `+${right}`)].join(',')
  const drop = `setpriv --no-new-privs --inh-caps=${kept} --ambient-caps=${kept} --bounding-set=${kept} --`
  const closed = `/bin/sh -c ${shellQuote(`${noMoreUsers(users)}; exec "$@"`)} berth ${drop}`
  const inside = image?.user ?? { uid: 0, gid: 0 }
  const isThere = uid === null && (inside.uid === 0 || image?.mapped)
  const mapped = isThere ? closed : `unshare --user ${mapping(inside.uid, inside.gid)} -- ${closed}`
  const single = uid === null ? mapped : `setpriv --reuid ${uid} --regid ${uid} --clear-groups -- ${mapped}`
  const become = uid === null || users === 1 ? single : `${asRootOf(uid).map(shellQuote).join(' ')} ${closed}`
  const shell = image ? image.shell.map(shellQuote).join(' ') : '/bin/sh'
  const astray = shellQuote('the machine is in the network of its computer')
  return [
    `[ "$(readlink /proc/self/ns/net)" != ${shellQuote(options.host_network)} ] || { echo ${astray} >&2; exit 1; }`,
    'unset XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS OLDPWD',
    // With this, the machine's root may listen on port 80 although it has no rights over its network.
    '(echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start) 2>/dev/null || :',
    ...(users > 1 ? [limitProcesses(processesMax)] : []),
    `exec ${become} ${options.filter ?? ''} ${shell} /.berth/agent/first-process.sh ${processesMax} "$@"`,
  ].join('\n')
}

/** Who is not root in there keeps the rights over it only when asked to, until they are given up. */
function mapping(uid: number, gid: number): string {
  return uid === 0 ? '--map-root-user' : `--map-user=${uid} --map-group=${gid} --keep-caps`
}

/** Quotes one word for a POSIX shell. */
export function shellQuote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
