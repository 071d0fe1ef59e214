import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { around, RANGES, USERS_EACH, usersFrom } from './machine-users.ts'

/** How long giving a volume to another machine's users may take; it walks over every file. */
const CHOWN_TIMEOUT_MS = 120_000

/** Gives a file to a user, and where it is a link the link: `lchown`, or `fchownat` where there is no other. */
const LCHOWN: Readonly<Partial<Record<string, string>>> = {
  x64: 'syscall(94, $at, $uid, $gid)',
  arm64: 'syscall(54, -100, $at, $uid, $gid, 0x100)',
}

/**
 * Gives a folder (`$ARGV[0]`) and all that is in it to the users from one on (`$ARGV[1]`): whoever owned a file in one
 * range owns it in the other, and what was in none is its root's. It goes from folder to folder, since no path is long
 * enough for all that may be in there, and through no link. Nobody changes any of it meanwhile.
 */
const MOVE_OWNERS = [
  'my ($folder, $first) = @ARGV;',
  `sub moved { my $id = shift; $first + ($id >= ${RANGES.first} && $id < ${RANGES.end} ? $id % ${USERS_EACH} : 0) }`,
  'sub give { my $at = "./" . shift; my @is = lstat $at or die "$at: $!\\n"; my $is_folder = -d _;',
  `my ($uid, $gid) = (moved($is[4]), moved($is[5])); ${LCHOWN[process.arch]} == 0 or die "$at: $!\\n"; $is_folder }`,
  'sub walk { opendir my $all, "." or die "$!\\n"; my @names = grep { $_ ne "." && $_ ne ".." } readdir $all; closedir $all;',
  'for my $name (@names) { give($name) or next;',
  'chdir "./$name" or die "$name: $!\\n"; walk(); chdir ".." or die "$name: $!\\n" } }',
  'chdir $folder or die "$folder: $!\\n"; give("."); walk()',
].join(' ')

/**
 * Gives a volume to a machine. Whatever lies in there was put there by customers.
 * @param data The volume's folder.
 * @param uid Who the machine is outside, or the first of its users; null for the gateway's own user.
 * @param former Who had it before; null where that was the gateway's own user.
 */
export async function giveVolume(data: string, uid: number | null, former: number | null): Promise<void> {
  // Around its users the gateway's own user is root.
  const owner = uid ?? 0
  const isMoved = process.getuid?.() === 0 && usersFrom(owner) > 1
  const one = [...around(uid ?? former), 'chown', '-R', '-P', '-h', `${owner}:${owner}`, '--', data]
  const [file = '', ...args] = isMoved ? ['perl', '-e', MOVE_OWNERS, data, String(uid)] : one
  await promisify(execFile)(file, args, { timeout: CHOWN_TIMEOUT_MS })
}
