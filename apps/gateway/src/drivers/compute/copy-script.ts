import { ComputeError } from './port/compute-error.ts'

/** What an archive keeps of each file beside its bytes. */
const KEPT = '--numeric-owner --xattrs --xattrs-include=user.*'
/** How the program that reads ends where files changed under its hands, which machines may do. */
const EXIT_CHANGED = 1
/** How it ends where nobody takes any more what it has read. */
const EXIT_CUT = 141
const COMPLAINT_CHARS_MAX = 300
const KB = 1024
const SAID = /^(read|written|kb) (\d+)$/gm

/**
 * What a shell runs to copy all that lies in a folder into the current one. GNU tar goes from folder to folder by open files
 * and through no link, so that what is in there may change meanwhile, whoever changes it: a link could lead to anything that
 * the copier may read. It says how each part ended, and what it has made of it. No quotes of one kind stand in it.
 * @param from A path without anything that a shell would take for its own.
 * @param bytesMax More than this is not copied.
 */
export const copyScript = (from: string, bytesMax: number): string => `
exec 6>&1
{ { tar -C ${from} --one-file-system --warning=no-file-ignored --sparse --format=posix ${KEPT} -cf - . ; echo read $? >&6; } |
  head -c ${bytesMax} | tar -xpf - --same-owner ${KEPT} --delay-directory-restore
  echo written $? >&6; } 2>&1 >/dev/null | { head -c ${COMPLAINT_CHARS_MAX}; cat >/dev/null; }
sync -f . && echo && echo kb $(du -skx . | cut -f1)`

/**
 * What a copy takes of the disk, in bytes, by what its shell has said.
 * @throws ComputeError `failed` where a part has not done all of its work.
 */
export function copiedBytes(output: string): number {
  const said = new Map([...output.matchAll(SAID)].map(([, name = '', number]) => [name, Number(number)]))
  const kb = said.get('kb')
  const isWhole = (said.get('read') ?? EXIT_CUT) <= EXIT_CHANGED && said.get('written') === 0
  if (isWhole && kb !== undefined) return kb * KB
  if (said.get('read') === EXIT_CUT) throw new ComputeError('failed', 'it holds more than is copied')
  const complaint = output.replace(SAID, '').trim().slice(0, COMPLAINT_CHARS_MAX)
  throw new ComputeError('failed', `not all that it holds could be copied${complaint && `: ${complaint}`}`)
}
