/**
 * The last steps into a machine, the same for every launcher: a shell script that runs as the machine's first
 * process, sees the finished root view, and still has the rights that making it took. It gives them all up
 * and becomes `agent/first-process.sh`.
 *
 * A gateway that runs as root gives each machine a user id of its own. That id becomes root of a user
 * namespace here, after the mounts were made by real root; so what the machine calls root is nobody outside.
 */

/** Most processes and threads that a machine may have, against fork bombs. */
export const PROCESSES_MAX = 4096

export interface EnterOptions {
  /** The host's user id to become, or null to stay the gateway's own, which is mapped to root already. */
  uid: number | null
  processesMax: number
}

/** The script that a launcher runs last, as `sh -c <script> berth <command...>`. */
export function enterScript(options: EnterOptions): string {
  const drop = 'setpriv --no-new-privs --inh-caps=-all --ambient-caps=-all --bounding-set=-all --'
  const become =
    options.uid === null
      ? drop
      : `setpriv --reuid ${options.uid} --regid ${options.uid} --clear-groups -- unshare --user --map-root-user -- ${drop}`
  return [
    'unset XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS OLDPWD',
    // With this, the machine's root may listen on port 80 although it has no rights over its network.
    '(echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start) 2>/dev/null',
    `exec ${become} /bin/sh /.berth/agent/first-process.sh ${options.processesMax} "$@"`,
  ].join('\n')
}

/** Quotes one word for a POSIX shell. */
export function shellQuote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
