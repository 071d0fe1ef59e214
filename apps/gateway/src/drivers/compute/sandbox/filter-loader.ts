import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { shellQuote } from './enter-script.ts'
import { CALLS, RIGHTS_OVER_USERS } from './machine-users.ts'
import { assembleFilter } from './syscall-filter.ts'

const TRIAL_TIMEOUT_MS = 5_000

/** The filter's name in the folder of the agent's scripts. */
export const FILTER_FILE = 'filter.bpf'

/** Where a machine sees that folder. */
const SCRIPTS_INSIDE = '/.berth/agent'

/** Numbers of the calls `prctl` and `capset`, which perl knows only by number. */
const PRCTL: Readonly<Record<string, number>> = { x64: 157, arm64: 167 }
const CAPSET: Readonly<Record<string, number>> = { x64: 126, arm64: 91 }
const { setgroups, setresgid, setresuid } = CALLS[process.arch] ?? {
  setgroups: 0,
  setresgid: 0,
  setresuid: 0,
}

/** Rights over a machine's own users, as the kernel writes sets of rights. */
const OVER_USERS = Object.values(RIGHTS_OVER_USERS).reduce<number>((set, right) => set | (1 << right), 0)

const READ_FILTER = 'open my $file, "<:raw", shift or die; my $code = join "", <$file>; close $file;'
const PUT_FILTER =
  ' my $filter = pack "S x![P] P", length($code) / 8, $code;' +
  ` syscall(${PRCTL[process.arch] ?? 0}, 22, 2, $filter) == 0 or die "no filter: $!\\n";` +
  ' exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!\\n"'

/**
 * Makes a folder the root, then gives up for good the rights that took (PR_CAPBSET_DROP for each, and all that it has)
 * but those that are named, and becomes another user where one is. Only then is anything in that folder looked at.
 */
const ENTER_ROOT =
  ' my ($root, $kept, @user) = splice @ARGV, 0, 4; chroot $root or die "$root: $!\\n"; chdir "/" or die "/: $!\\n";' +
  ` $kept & 1 << $_ or syscall(${PRCTL[process.arch] ?? 0}, 24, $_, 0, 0, 0) for 0 .. 63;` +
  ' if ($user[0] ne "") { my ($uid, $gid) = map { [($_ + 0) x 3] } @user; my $groups = pack "L", $user[1];' +
  ` syscall(${setgroups}, 1, $groups) == 0 && syscall(${setresgid}, @$gid) == 0 && syscall(${setresuid}, @$uid) == 0` +
  ' or die "another user: $!\\n" }' +
  ' my ($head, $rights) = (pack("L2", 0x20080522, 0), pack("L6", $kept, $kept, 0, 0, 0, 0));' +
  ` syscall(${CAPSET[process.arch] ?? 0}, $head, $rights) == 0 or die "rights stay: $!\\n";`

/**
 * Programs that put the filter over themselves (PR_SET_SECCOMP, SECCOMP_MODE_FILTER) and then become another one.
 * util-linux learned it only with 2.39; perl is there on every Debian and python3 on every Fedora. Both read the
 * filter from the file that comes first and build a `struct sock_fprog`.
 */
const WAYS: readonly { tool: 'perl' | 'python3'; program: string; flag: string }[] = [
  {
    tool: 'perl',
    flag: '-e',
    program: READ_FILTER + PUT_FILTER,
  },
  {
    tool: 'python3',
    flag: '-Ic',
    program:
      'import ctypes, os, sys; code = open(sys.argv[1], "rb").read();' +
      ' kept = ctypes.create_string_buffer(code, len(code));' +
      ' Filter = type("Filter", (ctypes.Structure,), {"_fields_": [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]});' +
      ' made = Filter(len(code) // 8, ctypes.addressof(kept));' +
      ' ctypes.CDLL(None).prctl(22, 2, ctypes.byref(made)) == 0 or sys.exit("no filter");' +
      ' os.execvp(sys.argv[2], sys.argv[2:])',
  },
]

/**
 * Shell words that enter a root under the filter.
 * @param user Who it is entered as where the machine has many users; null where it has one.
 */
export type EnterRoot = (root: string, user: { uid: number; gid: number } | null) => string

/** How a machine comes under the filter of system calls: shell words that go before its command, or why it does not. */
export type FilterLoader =
  | {
      words: string
      /** The same for a machine whose root came from an image, which is entered with that; null where it takes another. */
      into_root: EnterRoot | null
    }
  | { words: null; why: string }

/**
 * Finds what can put the filter over a machine here, by trying it.
 * @param scripts The folder with the agent's scripts, as it is outside.
 */
export async function findFilterLoader(scripts: string): Promise<FilterLoader> {
  if (assembleFilter(process.arch) === null) {
    return { words: null, why: `nobody has numbered the calls of this processor (${process.arch})` }
  }
  for (const { tool, flag, program } of WAYS) {
    const load = [tool, flag, program]
    const check = ['sh', '-c', 'grep -q "^Seccomp:.*2" /proc/self/status']
    const argv = ['--no-new-privs', ...load, join(scripts, FILTER_FILE), ...check]
    const works = await promisify(execFile)('setpriv', argv, { timeout: TRIAL_TIMEOUT_MS }).then(
      () => true,
      () => false,
    )
    if (!works) continue
    const words = (argv: string[]) => argv.map(shellQuote).join(' ')
    const file = `${SCRIPTS_INSIDE}/${FILTER_FILE}`
    const enter = [tool, flag, READ_FILTER + ENTER_ROOT + PUT_FILTER, file]
    return {
      words: words([...load, file]),
      into_root: tool === 'perl' ? (root, user) => words([...enter, root, ...enteredAs(user)]) : null,
    }
  }
  return { words: null, why: 'it takes perl or python3, and a kernel with seccomp' }
}

/** Root of a machine with many users keeps its rights over them; whoever is another one there has none. */
function enteredAs(user: { uid: number; gid: number } | null): string[] {
  if (user === null) return ['0', '', '']
  return [String(user.uid === 0 ? OVER_USERS : 0), String(user.uid), String(user.gid)]
}
