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
 * enough for all that may be in there, and through no link. No machine changes any of it meanwhile; S3 access may make
 * and remove files and folders, so what is gone by now is passed over.
 */
const MOVE_OWNERS = [
  'my ($folder, $first) = @ARGV;',
  `sub moved { my $id = shift; $first + ($id >= ${RANGES.first} && $id < ${RANGES.end} ? $id % ${USERS_EACH} : 0) }`,
  'sub gone { my ($at, $why) = @_; $!{ENOENT} or die "$at: $why\\n"; "" }',
  'sub place { "$_[0]:$_[1]" }',
  'sub give { my $at = "./" . shift; my @is = lstat $at or return gone($at, "$!"); my $folder = -d _ ? place(@is) : "";',
  `my ($uid, $gid) = (moved($is[4]), moved($is[5])); ${LCHOWN[process.arch]} == 0 or return gone($at, "$!"); $folder }`,
  'sub walk { opendir my $all, "." or die "$!\\n"; my @names = grep { $_ ne "." && $_ ne ".." } readdir $all; closedir $all;',
  'for my $name (@names) { my $was = give($name) or next;',
  'chdir "./$name" or gone($name, "$!") or next;',
  // What is another folder by now was reached by a link.
  'place(lstat ".") eq $was or die "$name: it is another one\\n"; walk(); chdir ".." or die "$name: $!\\n" } }',
  'use Errno; chdir $folder or die "$folder: $!\\n"; give("."); walk()',
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
