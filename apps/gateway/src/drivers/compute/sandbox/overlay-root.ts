import { execFile } from 'node:child_process'
import { chown, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CALLS, giveTo, usersFrom } from './machine-users.ts'
import { etcFiles } from './root-view.ts'

const TRIAL_TIMEOUT_MS = 5_000
/** Users that the trial is made as; nobody else has these. */
const TRIAL_UIDS = { tree: 1_899_999_998, machine: 1_899_999_999 } as const
const PATH = '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin'

/** What a home holds where it is laid over a tree: what the machine changed, the kernel's own, and where the tree is. */
export const UPPER = 'upper'
const WORK = 'work'
const LOWER = 'lower'

/**
 * Mounts a tree (`$ARGV[3]`) at a place (`$ARGV[4]`), read-only, where what belongs to so many users (`$ARGV[2]`) from one
 * on (`$ARGV[0]`) belongs to those from another on (`$ARGV[1]`), then becomes what follows. Which user is which is told to the kernel by a user namespace, which
 * a child makes: open_tree, mount_setattr with MOUNT_ATTR_IDMAP, move_mount.
 */
const MAPPED_TREE = [
  'my ($from, $to, $count, $tree, $at) = splice @ARGV, 0, 5; my $none = "";',
  'pipe my $made, my $making; pipe my $wait, my $go; my $child = fork // die "fork: $!\\n";',
  'if (!$child) { close $made; close $go;',
  `syscall(${CALLS[process.arch]?.unshare ?? 0}, 0x10000000) == 0 or die "unshare: $!\\n";`,
  'syswrite $making, "x"; sysread $wait, my $end, 1; exit }',
  'close $making; close $wait; sysread $made, my $begun, 1 or die "no user namespace\\n";',
  'for my $kind ("uid", "gid") { open my $map, ">", "/proc/$child/$kind" . "_map" or die "$kind: $!\\n";',
  'defined syswrite $map, "$from $to $count" or die "$kind: $!\\n" }',
  'open my $users, "<", "/proc/$child/ns/user" or die "users: $!\\n";',
  'my $mount = syscall(428, -100, $tree, 0x80001); $mount >= 0 or die "open_tree: $!\\n";',
  'my $how = pack "Q4", 0x100007, 0, 0, fileno $users;',
  'syscall(442, $mount, $none, 0x1000, $how, 32) == 0 or die "mount_setattr: $!\\n";',
  'syscall(429, $mount, $none, -100, $at, 4) == 0 or die "move_mount: $!\\n";',
  'close $go; waitpid $child, 0; exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!\\n"',
].join(' ')

/**
 * Lays a home (`$1`) over the tree that is in it, with further options (`$2`), then becomes what follows. Names are short
 * since the kernel takes a comma or a colon in one for the end of it. The kernel's own folder becomes the machine's user's,
 * who erases the home and is counted by it. A tree that is not mounted yet (`$3`) is.
 */
const OVERLAY_SCRIPT = `
home=$1 options=$2 tree=$3; shift 3
cd "$home" || exit 1
[ -z "$tree" ] || mount --bind -- "$tree" ${LOWER} || exit 1
mount -t overlay -o "nosuid,nodev,lowerdir=${LOWER},upperdir=${UPPER},workdir=${WORK},$options" -- berth "$home" &&
  chown --reference=${UPPER} ${WORK}/work && chmod 700 ${WORK}/work || exit 1
cd /
exec "$@"
`

/** Nothing is kept between starts that the kernel would have to be told of; inode numbers stay as they are. */
const OPTIONS = 'index=off,metacopy=off,xino=auto'
/**
 * A folder of the image is renamed by a copy, as on Docker: what leads to its old place has no place in a layer. Machines of
 * earlier versions may have some, which are followed.
 */
const ROOT_OPTIONS = `${OPTIONS},redirect_dir=follow`
const USER_OPTIONS = `${OPTIONS},userxattr`

/** Where a machine's home is, and whose; null for the gateway's own user. */
interface LaidMachine {
  home: string
  uid: number | null
}

/** Lays machines' homes over the trees of images. */
export interface RootOverlay {
  /** What goes before a launcher's own arguments, where only the machine sees it; the home is mounted already. */
  words(tree: string, machine: LaidMachine): Promise<string[]>
}

/** Whether homes can be laid over a shared tree here, found out by doing it. */
export async function findRootOverlay(
  dataDir: string,
): Promise<{ overlay: RootOverlay } | { overlay: null; why: string }> {
  const isRoot = process.getuid?.() === 0
  const folder = await mkdtemp(join(dataDir, 'overlay-trial-'))
  try {
    const [tree, home] = [join(folder, 'tree'), join(folder, 'home')]
    await mkdir(join(tree, 'etc'), { recursive: true, mode: 0o700 })
    await writeFile(join(tree, 'etc/file'), 'kept', { mode: 0o600 })
    await mkdir(home)
    const machine = { home, uid: isRoot ? TRIAL_UIDS.machine : null }
    await makeUpper(machine, 'trial')
    for (const path of isRoot ? [tree, join(tree, 'etc'), join(tree, 'etc/file')] : []) {
      await chown(path, TRIAL_UIDS.tree, TRIAL_UIDS.tree)
    }
    const uid = String(TRIAL_UIDS.machine)
    const become = isRoot ? ['setpriv', '--reuid', uid, '--regid', uid, '--clear-groups', '--'] : []
    const use = 'grep -q kept etc/file && echo more >> etc/file && rm etc/file && cat etc/hostname'
    const enter = ['sh', '-c', 'cd "$1"; shift; exec "$@"', 'berth', home, ...become, 'sh', '-c', use]
    const [file = '', ...args] = [...(await wordsOf(tree, machine)), ...enter]
    await promisify(execFile)(file, args, { env: { PATH }, timeout: TRIAL_TIMEOUT_MS })
    return { overlay: { words: wordsOf } }
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string }
    const [said = ''] = (stderr?.trim() || message).split('\n')
    return { overlay: null, why: `roots cannot be laid over one another here (${said.slice(0, 200)})` }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Makes a new machine's home one that is laid over a tree, with what that machine has of its own. */
export async function makeUpper({ home, uid }: LaidMachine, hostname: string): Promise<void> {
  const files = Object.entries(etcFiles(hostname)).map(([name, text]) => [UPPER + name, text] as const)
  const folders = ['', UPPER, `${UPPER}/etc`, WORK, LOWER]
  for (const name of folders) await mkdir(join(home, name), { recursive: true, mode: 0o755 })
  for (const [name, text] of files) await writeFile(join(home, name), text, { mode: 0o644 })
  const made = [...files.map(([name]) => name), ...folders]
  await giveTo(
    uid,
    made.map(name => join(home, name)),
  )
}

/**
 * As root, the tree is mounted as one of the machine's users, the first of which has the home; else all of it is the gateway's own
 * user's, and the mounts are made in a user namespace.
 */
async function wordsOf(tree: string, { home, uid }: LaidMachine): Promise<string[]> {
  const over = (options: string, unmapped: string) => {
    return ['/bin/sh', '-c', OVERLAY_SCRIPT, 'berth', home, options, unmapped]
  }
  // Of its own even where the home is mounted in one already: a mount that others see would outlive the machine.
  const apart = ['--mount', '--propagation', 'private', '--']
  if (uid === null || process.getuid?.() !== 0) {
    // Whose range it has is in a user namespace by now, in which its tree's files are its own.
    const own = uid === null ? ['--user', '--map-root-user'] : []
    return ['unshare', ...own, ...apart, ...over(USER_OPTIONS, tree)]
  }
  const { uid: from } = await stat(tree)
  const users = [from, uid, usersFrom(uid)].map(String)
  const mapped = ['perl', '-e', MAPPED_TREE, ...users, tree, join(home, LOWER)]
  return ['unshare', ...apart, ...mapped, ...over(ROOT_OPTIONS, '')]
}
