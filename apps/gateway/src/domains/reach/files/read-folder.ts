import { type FileEntry, type FileListing, isFilePath, type UploadState } from '@berth/contract/files'
import { ApiError } from '../../../platform/http/api-error.ts'
import { needs, reads } from './run-script.ts'

/** What is asked of each file: type and rights in hexadecimal digits, bytes, and seconds since 1970. */
const FORMAT = '%f %s %Y'
const FIELDS = /^([0-9a-f]{1,8}) (\d{1,16}) (-?\d{1,15})(?=[ \n]|$)/
const TYPE = 0o170000
const FOLDER = 0o040000
const FILE = 0o100000
const LINK = 0o120000
const RIGHTS = 0o7777
const NAME_BYTES_MAX = 255
/** More than any file system has in a folder. */
const NAMES_MAX = 1e9
const MODIFIED_S_MAX = 253_402_300_799

/**
 * Lists a page of a folder: where it is, how many names there are, those of the page, and what they are, first as links
 * and then as what links lead to. Its input is the number of names before the page, how many there are on it, and the
 * path; an empty one is the home of the user.
 */
export const LIST_SCRIPT = `${needs('stat')}
IFS= read -r from; IFS= read -r count; IFS= read -r p
if [ -n "$p" ]; then p=$(printf "$p"); p=\${p%.}; cd "$p" || exit; else cd 2>/dev/null || cd /; fi
[ -r . ] || { echo permission denied >&2; exit 1; }
set -- ..?* .[!.]* *
printf '%s\\0%s\\0' "$PWD" $#
at=$from; end=$((from + count)); [ $end -gt $# ] && end=$#; page=
while [ $at -lt $end ]; do at=$((at + 1)); page="$page \\"\\\${$at}\\""; done
eval "set -- $page"
[ $# -gt 0 ] && printf '%s\\0' "$@"
printf '\\0'
[ $# -gt 0 ] && stat -c '${FORMAT} %n' -- "$@" 2>/dev/null
printf '\\0'
[ $# -gt 0 ] && stat -L -c '${FORMAT} %n' -- "$@" 2>/dev/null
exit 0`

/** Asks about files, of which each has two lines of the input: its path, and the path of its part. */
export const PLAN_SCRIPT = `${needs('stat')}
while IFS= read -r p; do
p=$(printf "$p"); p=\${p%.}; ${reads('q')}
own=$(stat -c '${FORMAT}' -- "$p" 2>/dev/null) || own=-
to=$(stat -L -c '${FORMAT}' -- "$p" 2>/dev/null) || to=-
part=$(stat -c '${FORMAT}' -- "$q" 2>/dev/null) || part=-
printf '%s\\n%s\\n%s\\n' "$own" "$to" "$part"
done
exit 0`

interface Stat {
  mode: number
  size: number
  modifiedS: number
}

/** Reads what `LIST_SCRIPT` wrote. @throws ApiError `files_unclear` where that makes no sense. */
export function readListing(said: string, asked: { from: number; entriesMax: number }): FileListing {
  const fields = said.split('\0')
  const path = textOf(fields[0] ?? '')
  const total = Number(fields[1])
  const end = fields.indexOf('', 2)
  if (path === null || !isFilePath(path) || end < 0 || !(total >= 0 && total <= NAMES_MAX)) throw unclear()
  const names = fields.slice(2, end)
  // The two answers on what they are stand behind them.
  if (fields.length !== end + 3 || names.length > asked.entriesMax) throw unclear()
  const own = statsOf(names, fields[end + 1] ?? '')
  const led = statsOf(names, fields[end + 2] ?? '')
  const entries = names.flatMap(name => {
    const stat = own.get(name)
    // A pattern that fits nothing stands for itself, and a file may be gone meanwhile.
    return stat && isName(name) ? [entryOf(name, stat, led.get(name) ?? null)] : []
  })
  const next = asked.from + asked.entriesMax
  return { path, entries, next: next < total ? next : null }
}

/** Reads what `PLAN_SCRIPT` wrote of files. @throws ApiError `files_unclear` where that makes no sense. */
export function readPlan(
  said: string,
  files: readonly { path: string; size: number; modified_at: number }[],
): UploadState[] {
  const lines = said.split('\n')
  if (lines.length !== files.length * 3 + 1) throw unclear()
  return files.map(({ path, size, modified_at }, index) => {
    const [own = '', led = '', part = ''] = lines.slice(index * 3, index * 3 + 3)
    const stat = statOf(own)
    const name = Buffer.from(path.slice(path.lastIndexOf('/') + 1)).toString('latin1')
    const existing = stat && entryOf(name, stat, statOf(led))
    const have = statOf(part)?.size ?? 0
    return {
      path,
      existing,
      is_same: stat !== null && isFile(stat) && stat.size === size && stat.modifiedS === modified_at,
      have_bytes: have <= size ? have : 0,
    }
  })
}

/** A name may hold line ends, so each is looked for where it has to stand; one that went meanwhile does not. */
function statsOf(names: readonly string[], said: string): Map<string, Stat> {
  const stats = new Map<string, Stat>()
  let at = 0
  for (const name of names) {
    const rest = said.slice(at, at + 64)
    const head = FIELDS.exec(rest)?.[0]
    if (head === undefined || !said.startsWith(` ${name}\n`, at + head.length)) continue
    const stat = statOf(rest)
    if (stat) stats.set(name, stat)
    at += head.length + name.length + 2
  }
  return stats
}

function statOf(said: string): Stat | null {
  const [, mode, size, modified] = FIELDS.exec(said) ?? []
  if (mode === undefined || !Number.isSafeInteger(Number(size))) return null
  return { mode: Number.parseInt(mode, 16), size: Number(size), modifiedS: Number(modified) }
}

function entryOf(name: string, own: Stat, led: Stat | null): FileEntry {
  const isLink = (own.mode & TYPE) === LINK
  const stat = isLink ? led : own
  const text = textOf(name)
  const { modifiedS } = stat ?? own
  return {
    name: text ?? Buffer.from(name, 'latin1').toString(),
    kind:
      stat === null ? 'other' : isFile(stat) ? 'file' : (stat.mode & TYPE) === FOLDER ? 'folder' : 'other',
    is_link: isLink,
    size: (stat ?? own).size,
    modified_at:
      modifiedS >= 0 && modifiedS <= MODIFIED_S_MAX ? new Date(modifiedS * 1_000).toISOString() : null,
    mode: ((stat ?? own).mode & RIGHTS).toString(8).padStart(4, '0'),
    can_be_named: text !== null,
  }
}

function isFile({ mode }: Stat): boolean {
  return (mode & TYPE) === FILE
}

/** Whether a file can have that name: the machine may say anything. */
function isName(name: string): boolean {
  return name.length <= NAME_BYTES_MAX && name !== '.' && name !== '..' && !/[/\0]/.test(name)
}

/** Null where bytes are no text. */
function textOf(bytes: string): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(bytes, 'latin1'))
  } catch {
    return null
  }
}

function unclear(): ApiError {
  return new ApiError('files_unclear')
}
