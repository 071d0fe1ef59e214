import { constants } from 'node:os'
import type { Engine } from '../port/engine.ts'
import { text } from './tools.ts'

/** One call to the kernel: its number on x86-64 and on arm64, and its arguments. */
type KernelCall = readonly [x64: number, arm64: number, ...args: number[]]

const CLONE_NEWUSER = 0x10000000
const SIGCHLD = 17
const SOCK_RAW = 3

/** What attacks on a shared kernel begin with, and what no machine needs, of any engine. */
export const ATTACKS = {
  'a new user namespace': [272, 97, CLONE_NEWUSER],
  'a child in a new user namespace': [56, 220, CLONE_NEWUSER | SIGCHLD],
  'another’s namespace': [308, 268, 0, 0],
  'a mount': [165, 40, 0, 0, 0, 0, 0],
  'a mount by its new calls': [430, 430, 0, 0],
  'a raw socket to the network’s cards': [41, 198, 17, SOCK_RAW, 0],
  'a keyring': [250, 219, 0, -3, 1],
  'a program in the kernel': [321, 280, 0, 0, 0],
  'a look at the kernel’s counters': [298, 241, 0, 0, -1, -1, 0],
  'a page fault of one’s own': [323, 282, 0],
  'a module': [175, 105, 0, 0, 0],
  'a file by its number': [304, 265, 0, 0, 0],
} satisfies Record<string, KernelCall>

/** Prints the error of each call, or that of a child 0: one that was let through does no harm, all arguments being empty. */
const PROGRAM = `
  for (@ARGV) {
    my ($number, @args) = map { $_ + 0 } split /,/;
    my $pid = $$;
    my $done = syscall($number, @args);
    if ($$ != $pid) { require POSIX; POSIX::_exit(0) }
    print $done == -1 ? $! + 0 : 0, "\\n";
  }`

/**
 * Makes calls in a machine, all in one process.
 * @returns The error of each by name, such as `EPERM`, and `done` where the kernel did it.
 */
export async function makeCalls<Name extends string>(
  engine: Engine,
  id: string,
  calls: Record<Name, KernelCall>,
): Promise<Record<Name, string>> {
  const names = Object.keys(calls) as Name[]
  const words = names.map(name => {
    const [x64, arm64, ...args] = calls[name]
    return [process.arch === 'x64' ? x64 : arm64, ...args].join(',')
  })
  const said = await text(engine, id, `perl -e '${PROGRAM}' ${words.join(' ')}`)
  const errors = said.trim().split('\n').map(Number)
  return Object.fromEntries(names.map((name, at) => [name, errorName(errors[at])])) as Record<Name, string>
}

function errorName(errno: number | undefined): string {
  if (errno === 0) return 'done'
  return Object.entries(constants.errno).find(([, number]) => number === errno)?.[0] ?? `error ${errno}`
}
