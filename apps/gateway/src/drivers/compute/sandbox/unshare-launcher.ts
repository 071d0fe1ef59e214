import { enterScript, shellQuote as q } from './enter-script.ts'
import type { LaunchPlan } from './launch-plan.ts'
import type { ViewStep } from './root-view.ts'

/**
 * Makes the machine with nothing but util-linux and sh, for computers that have no bubblewrap. It takes some
 * 100 ms longer because each mount is a process of its own.
 */
export function unshareArgv(plan: LaunchPlan): string[] {
  const user = plan.enter.uid === null ? ['--user', '--map-root-user'] : []
  const net = plan.network === 'own' ? ['--net'] : []
  const spaces = ['--mount', '--uts', '--ipc', ...net, '--pid', '--cgroup', '--fork']
  return ['unshare', ...user, ...spaces, '--', '/bin/sh', '-c', setupScript(plan), 'berth', ...plan.command]
}

/**
 * Ways to bring up the loopback, each with a tool of its own: iproute2 is not on every computer, and perl is
 * there on every Debian. The last two set the interface's flags (SIOCSIFFLAGS) to IFF_UP and IFF_RUNNING.
 */
export const LOOPBACK_WAYS = [
  'ip link set lo up',
  'ifconfig lo up',
  'busybox ip link set lo up',
  `perl -e 'socket(my $s, 2, 2, 0) or die; my $r = pack("a16 s x14", "lo", 0x41); ioctl($s, 0x8914, $r) or die'`,
  `python3 -c 'import fcntl, socket, struct; fcntl.ioctl(socket.socket(2, 2), 0x8914, struct.pack("16sh14x", b"lo", 0x41))'`,
]

/** Shell lines that bring it up, in whatever way there is. */
export const LOOPBACK_UP = `
loopback_up() {
${LOOPBACK_WAYS.map(way => `  ${way} 2>/dev/null && return`).join('\n')}
  echo 'no way to bring up the loopback: install iproute2 or perl' >&2
  exit 1
}
loopback_up
`

/**
 * Binds a tree read-only. Each mount in it is made so by itself, with the flags that it must keep. The kernel
 * writes odd characters of a path in octal, so `$seen` is the root as it writes it. A tree that is not found
 * again after binding ends the start: better no machine than one that can write to its host.
 */
const BIND = `
bind_ro() {
  mount --rbind "$1" "$root$2"
  found=
  while read -r _ _ _ _ at flags _; do
    case "$at" in
      "$seen$2"|"$seen$2"/*)
        found=1
        mount -o "remount,bind,nosuid,nodev,$(ro "$flags")" "$root$(printf '%b' "\${at#"$seen"}")"
        ;;
    esac
  done < /proc/self/mountinfo
  [ -n "$found" ] || { echo "cannot make $2 read-only" >&2; exit 1; }
}
ro() { case "$1" in rw) echo ro ;; rw,*) echo "ro,\${1#rw,}" ;; *) echo "$1" ;; esac; }
`

function setupScript(plan: LaunchPlan): string {
  const root = plan.mount_point
  return [
    'set -e',
    // /proc is still the host's here, so this is the id by which the gateway knows the first process.
    ...(plan.info_fd === null
      ? []
      : [
          `read -r pid _ < /proc/self/stat; echo "{\\"child-pid\\": $pid}" >&${plan.info_fd}`,
          `exec ${plan.info_fd}>&-`,
        ]),
    'umask 022',
    ...(plan.network === 'own' ? [LOOPBACK_UP] : []),
    BIND,
    `hostname ${q(plan.hostname)}`,
    `root=${q(root)}`,
    `seen=${q(asMountinfoWritesIt(root))}`,
    'mount -t tmpfs -o mode=755,size=16m berth "$root"',
    ...plan.steps.map(stepScript),
    'mkdir "$root/.old"',
    'cd "$root"',
    'pivot_root . .old',
    'cd /',
    'umount -l /.old',
    'rmdir /.old',
    ...plan.read_only.map(at => `mount -o remount,bind,ro ${q(at)}`),
    enterScript(plan.enter),
  ].join('\n')
}

function stepScript(step: ViewStep): string {
  switch (step.do) {
    case 'bind': {
      const at = `"$root"${q(step.at)}`
      const place =
        step.kind === 'dir' ? `mkdir -p ${at}` : `mkdir -p "$root"${q(parentOf(step.at))}; touch ${at}`
      // A place inside a folder that is bound read-only already exists there.
      const mounted = step.writable
        ? `mount --bind ${q(step.from)} ${at}`
        : `bind_ro ${q(step.from)} ${q(step.at)}`
      return `[ -e ${at} ] || { ${place}; }; ${mounted}`
    }
    case 'tmpfs':
      return `mkdir -p "$root"${q(step.at)}; mount -t tmpfs -o nosuid,nodev,mode=${step.mode},size=${step.sizeMb}m tmpfs "$root"${q(step.at)}`
    case 'symlink':
      return `ln -s ${q(step.target)} "$root"${q(step.at)}`
    case 'dir':
      return `mkdir -p "$root"${q(step.at)}`
    case 'proc':
      return `mkdir -p "$root"${q(step.at)}; mount -t proc -o nosuid,nodev,noexec proc "$root"${q(step.at)}`
    case 'dev':
      return `dev="$root"${q(step.at)}\n${DEV}`
  }
}

const DEV = `
mkdir -p "$dev"
mount -t tmpfs -o nosuid,mode=755,size=64k dev "$dev"
for node in null zero full random urandom tty; do
  touch "$dev/$node"
  mount --bind "/dev/$node" "$dev/$node"
done
ln -s /proc/self/fd "$dev/fd"
ln -s /proc/self/fd/0 "$dev/stdin"
ln -s /proc/self/fd/1 "$dev/stdout"
ln -s /proc/self/fd/2 "$dev/stderr"
mkdir "$dev/pts" "$dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$dev/pts"
ln -s pts/ptmx "$dev/ptmx"
`

function asMountinfoWritesIt(path: string): string {
  return path.replace(/[ \t\n\\]/g, found => `\\${found.charCodeAt(0).toString(8).padStart(3, '0')}`)
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}
