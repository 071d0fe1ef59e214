import { join } from 'node:path'
import { homeMounting } from './home-images.ts'
import type { MachinePaths, MachineRecord } from './machine-store.ts'
import { around, usersFrom } from './machine-users.ts'
import { UPPER } from './overlay-root.ts'
import { etcFiles } from './root-view.ts'

/**
 * What writes the archive reads any file, what the kernel keeps beside it, and changes nothing. It opens names one below the other and follows no
 * link, so that a machine that runs meanwhile can lead it nowhere.
 */
const READING = ['dac_read_search', 'sys_admin'].map(right => `,+${right}`).join('')
const ARCHIVE = [
  'tar',
  '--create',
  '--file=-',
  '--format=posix',
  '--pax-option=delete=atime,delete=ctime',
  '--numeric-owner',
  '--sort=name',
  '--one-file-system',
  '--xattrs',
  '--xattrs-include=*',
]

/** What the walls put into each machine's root by themselves. */
const OWN_PLACES = ['.berth']

/**
 * How a machine's changed files are read: over its image where its home lies over that, else all of its root.
 * @returns The words that become a program which writes an archive of them, which of them are not the machine's doing,
 * and whose files are whose.
 */
export async function changedFiles(record: MachineRecord, paths: MachinePaths) {
  const { uid, image, spec } = record
  const isRoot = process.getuid?.() === 0
  const asRoot = uid === null ? ['unshare', '--user', '--map-root-user', '--'] : around(uid)
  const bounded = ['setpriv', '--no-new-privs', '--inh-caps=-all', `--bounding-set=-all${READING}`, '--']
  const folder = image?.tree === undefined ? paths.home : join(paths.home, UPPER)
  return {
    argv: [
      ...(isRoot ? [] : asRoot),
      ...(await homeMounting(paths)),
      ...(isRoot ? bounded : []),
      ...ARCHIVE,
      `--directory=${folder}`,
      '--',
      '.',
    ],
    left_out: [...Object.keys(etcFiles(spec.hostname)).map(path => path.slice(1)), ...OWN_PLACES],
    users: { first: uid ?? process.getuid?.() ?? 0, count: uid === null ? 1 : usersFrom(uid) },
  }
}
