import { execFile } from 'node:child_process'
import { chmod, lchown, lstat, mkdtemp, readFile, rename, rmdir } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** As many as an image of a registry may name, and as distributions give to a user. */
export const USERS_EACH = 65_536

/**
 * Ranges of user ids, each of so many and beginning at a multiple of that, above those that distributions, systemd and
 * this driver's machines with a single user have, and below what programs take for negative. So the lower half of an id
 * in there says who it is within its machine, whichever that is.
 */
const RANGE_FIRST = 30_518
const RANGE_END = 32_768
/** Those of images' trees, whose owner runs nothing, and of trials. */
const TREES_RANGE = RANGE_FIRST
const TRIAL_RANGE = RANGE_FIRST + 1

/** The first id of all ranges, and the first after them. */
export const RANGES = { first: RANGE_FIRST * USERS_EACH, end: RANGE_END * USERS_EACH } as const

/** The first users of ranges that machines may have. */
export const MACHINES = { first: (TRIAL_RANGE + 1) * USERS_EACH, end: RANGES.end } as const

const TREES_UID = TREES_RANGE * USERS_EACH
const TRIAL_UID = TRIAL_RANGE * USERS_EACH

const TRIAL_TIMEOUT_MS = 5_000
const PATH = '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin'

/** Calls that perl knows only by number; `mount_setattr` and its like have one number on all processors. */
export const CALLS: Readonly<
  Partial<Record<string, Record<'unshare' | 'setgroups' | 'setresgid' | 'setresuid', number>>>
> = {
  x64: { unshare: 272, setgroups: 116, setresgid: 119, setresuid: 117 },
  arm64: { unshare: 97, setgroups: 159, setresgid: 149, setresuid: 147 },
}
const CALL = CALLS[process.arch] ?? { unshare: 0, setgroups: 0, setresgid: 0, setresuid: 0 }

/**
 * Rights that root keeps over its own users and their files, by setpriv's names and the kernel's numbers. None of them
 * reaches beyond those users, since they are rights of their own namespace.
 */
export const RIGHTS_OVER_USERS = {
  chown: 0,
  dac_override: 1,
  fowner: 3,
  fsetid: 4,
  kill: 5,
  setgid: 6,
  setuid: 7,
} as const

/**
 * Becomes the first user of a range (`$ARGV[0]`, of `$ARGV[1]` users), and root of a user namespace in which they are 0
 * and so on, then becomes what follows. A child that is still outside tells the kernel which users they are. Who has made the namespace is that
 * user, so that the limit on its processes is one on those of all of them.
 */
const BECOME_ROOT = [
  'my ($first, $count) = splice @ARGV, 0, 2; my $me = $$;',
  'pipe my $made, my $making; pipe my $wait, my $go; my $child = fork // die "fork: $!\\n";',
  'if (!$child) { close $making; close $wait; sysread $made, my $begun, 1 or exit 1;',
  'for my $kind ("uid", "gid") { open my $map, ">", "/proc/$me/$kind" . "_map" or die "$kind: $!\\n";',
  'defined syswrite $map, "0 $first $count" or die "$kind: $!\\n" }',
  'syswrite $go, "x"; exit }',
  'close $made; close $go; my @first = ($first + 0) x 3;',
  `syscall(${CALL.setgroups}, 0, 0) == 0 or die "groups: $!\\n";`,
  `syscall(${CALL.setresgid}, @first) == 0 or die "group: $!\\n";`,
  `syscall(${CALL.setresuid}, @first) == 0 or die "user: $!\\n";`,
  `syscall(${CALL.unshare}, 0x10000000) == 0 or die "user namespace: $!\\n";`,
  'syswrite $making, "x"; sysread $wait, my $end, 1 or die "users are not mapped\\n"; waitpid $child, 0;',
  'exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!\\n"',
].join(' ')

/**
 * Enters a user namespace in which the gateway's own user (`$ARGV[0]`, `$ARGV[1]` its group) is root and so many users
 * (`$ARGV[3]`) from one on (`$ARGV[2]`) are who they are outside, then becomes what follows. That they are this user's
 * to give is what `newuidmap` looks up.
 */
const ENTER_OWN = [
  'my ($uid, $gid, $first, $count) = splice @ARGV, 0, 4; my $me = $$;',
  'pipe my $made, my $making; pipe my $wait, my $go; my $child = fork // die "fork: $!\\n";',
  'if (!$child) { close $making; close $wait; sysread $made, my $begun, 1 or exit 1;',
  'for (["newuidmap", $uid], ["newgidmap", $gid]) { my ($tool, $id) = @$_;',
  'system($tool, $me, 0, $id, 1, $first, $first, $count) == 0 or die "$tool does not map users\\n" }',
  'syswrite $go, "x"; exit }',
  'close $made; close $go;',
  `syscall(${CALL.unshare}, 0x10000000) == 0 or die "user namespace: $!\\n";`,
  'syswrite $making, "x"; sysread $wait, my $end, 1 or die "users are not mapped\\n"; waitpid $child, 0;',
  'exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!\\n"',
].join(' ')

const isRoot = () => process.getuid?.() === 0

/**
 * The words that go before what handles the users of a machine or a tree from outside of it; none where the gateway's
 * own user may do so anyhow.
 * @param uid The first of them; null where there is the gateway's own user alone.
 */
export function around(uid: number | null): string[] {
  if (uid === null || isRoot()) return []
  const own = [process.getuid?.(), process.getgid?.(), uid, USERS_EACH].map(String)
  return ['perl', '-e', ENTER_OWN, ...own]
}

/**
 * Gives files, and where one is a link the link, to the first user of a machine or a tree.
 * @param uid Null for the gateway's own user, whose they are.
 */
export async function giveTo(uid: number | null, paths: readonly string[]): Promise<void> {
  if (uid === null) return
  if (isRoot()) {
    for (const path of paths) await lchown(path, uid, uid)
    return
  }
  const owners = await Promise.all(paths.map(path => lstat(path)))
  if (owners.every(owner => owner.uid === uid)) return
  const [file = '', ...args] = [...around(uid), 'chown', '-h', `${uid}:${uid}`, '--', ...paths]
  await promisify(execFile)(file, args, { env: { PATH } })
}

/**
 * Moves a folder of the first user of a machine or a tree to another one, which takes rights over it.
 * @param uid Null for the gateway's own user.
 * @throws An error with the code `ENOENT` where it is not there.
 */
export async function moveOf(uid: number | null, from: string, to: string): Promise<void> {
  if (uid === null || isRoot()) return rename(from, to)
  await lstat(from)
  const [file = '', ...args] = [...around(uid), 'mv', '-T', '--', from, to]
  await promisify(execFile)(file, args, { env: { PATH } })
}

/** How many users there are from one on that is a machine's or a tree's first: a range, or that one alone. */
export function usersFrom(uid: number): number {
  // An ordinary user has no other users to give but those of a range.
  if (!isRoot()) return USERS_EACH
  return uid % USERS_EACH === 0 && uid >= RANGES.first && uid < RANGES.end ? USERS_EACH : 1
}

/** The words that go before what is to be done as root of a range of users, over all of whose files it has rights. */
export function asRootOf(uid: number): string[] {
  return ['perl', '-e', BECOME_ROOT, String(uid), String(usersFrom(uid))]
}

/** The same from outside, with rights over their files and no others. */
export function overFilesOf(uid: number): string[] {
  const rights = Object.keys(RIGHTS_OVER_USERS).map(right => `,+${right}`)
  const bounded = ['--no-new-privs', '--inh-caps=-all', `--bounding-set=-all${rights.join('')}`]
  return [...around(uid), ...asRootOf(uid), 'setpriv', ...bounded, '--']
}

/** Users that machines can have. */
export type OwnUsers =
  | { why: string }
  /** Each machine has a range for itself; images' trees have one. */
  | { why: null; trees: number; each: null }
  /** There is one range, which all machines and trees of this gateway have. */
  | { why: null; trees: number; each: number }

/** Which users machines can have here, found out by giving a file to one. */
export async function findOwnUsers(dataDir: string): Promise<OwnUsers> {
  if (isRoot()) return (await tryUsers(dataDir, TRIAL_UID)) ?? { why: null, trees: TREES_UID, each: null }
  const first = await readOwnRange()
  if (typeof first === 'string') return { why: first }
  return (await tryUsers(dataDir, first)) ?? { why: null, trees: first, each: first }
}

/** The first of the users that an ordinary user may give out, or why there are none. */
async function readOwnRange(): Promise<number | string> {
  const uid = String(process.getuid?.())
  const username = nameOf() ?? uid
  const firsts = await Promise.all(
    ['/etc/subuid', '/etc/subgid'].map(async path => {
      const lines = (await readFile(path, 'utf8').catch(() => '')).split('\n').map(line => line.split(':'))
      const ours = lines.filter(([name]) => name === username || name === uid)
      return ours.find(([, , count]) => Number(count) >= USERS_EACH)?.[1]
    }),
  )
  const [first, group] = firsts.map(Number)
  if (!first || first !== group) {
    return `/etc/subuid and /etc/subgid give ${username} no ${USERS_EACH} ids that begin at the same number`
  }
  return first
}

/** Of a folder that the gateway itself enters, and another user has. What is above it is closed to everybody else. */
export const ENTERED_MODE = 0o711

/** A user may have none, in containers for instance. */
function nameOf(): string | null {
  try {
    return userInfo().username
  } catch {
    return null
  }
}

async function tryUsers(dataDir: string, uid: number): Promise<{ why: string } | null> {
  const folder = await mkdtemp(join(dataDir, 'users-trial-'))
  const use = 'touch file && chown 1000:65534 file && [ "$(stat -c %u:%g file)" = 1000:65534 ]'
  try {
    await chmod(folder, ENTERED_MODE)
    await giveTo(uid, [folder])
    const [file = '', ...args] = [...overFilesOf(uid), 'sh', '-c', `${use}; is=$?; rm -f file; exit $is`]
    // It is entered before the process becomes that user, who could not come here by itself.
    await promisify(execFile)(file, args, { cwd: folder, env: { PATH }, timeout: TRIAL_TIMEOUT_MS })
    return null
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string }
    const [said = ''] = (stderr?.trim() || message).split('\n')
    return { why: `users cannot be given out here (${said.slice(0, 200)})` }
  } finally {
    await rmdir(folder)
  }
}
