import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Manifest, Sums } from '../platform/backup/backup-format.ts'
import { sealByPassphrase } from '../platform/backup/passphrase.ts'
import { checkBackup } from '../platform/backup/read-backup.ts'
import { writeBackup } from '../platform/backup/write-backup.ts'
import { embeddedUrlOf } from '../platform/database/embedded/embedded-postgres.ts'
import { openOwnSecrets } from '../platform/installation/open-secrets.ts'
import { EXIT, Refused } from './line/answer.ts'
import { changing, flag, looking, required } from './line/command.ts'
import { bytesSaid, counted, fromNow, minute } from './line/said.ts'
import { facts } from './line/table.ts'
import { path } from './line/values.ts'
import {
  foldersHere,
  inWords,
  keyOf,
  requireKnown,
  restoreInstallation,
  whatIsThere,
} from './restore-installation.ts'

const file = required(path('<file>'), 'The backup', 'Which file? Its path is missing.')

/** One file that an installation can be put back from, made while its gateways run. */
export const backupCommands = [
  changing({
    noun: 'backup',
    verb: 'create',
    summary: 'Writes the installation into one file, while its gateways run',
    details:
      'The database as it is at one moment, and customers’ images. The data folder’s key goes along, sealed under ' +
      'BERTH_BACKUP_PASSPHRASE; where BERTH_MASTER_KEY is set, keep that key yourself. The file lets whoever has it read ' +
      'all that customers have: only its owner may read it.',
    arguments: { file: { ...file, help: 'Where it is made; there is none yet' } },
    options: {
      'without-images': flag('Leaves customers’ images out, which are most of it'),
      'with-machines': flag(
        'Takes along what machines of the sandbox store, as it is read: stop them before',
      ),
    },
    examples: [
      ['backup create /backups/berth-2026-11-27.tar.gz', 'every night, say'],
      ['backup create /backups/books.tar.gz --without-images', 'the database alone'],
    ],
    async plan({ clock, config: read }, given) {
      const config = read()
      const target = resolve(given.file)
      if (existsSync(target)) throw new Refused(`${target} is there already: name another file.`)
      const secrets = openOwnSecrets(config)
      const { backupPassphrase, masterKey } = config
      if (masterKey === null && backupPassphrase === null) {
        throw new Refused(
          'Set BERTH_BACKUP_PASSPHRASE: the data folder’s key goes along, and is sealed under it. Without its key a ' +
            'database is of no use.',
        )
      }
      const here = foldersHere(config)
      const folders = {
        ...(given['without-images'] || here.images === undefined ? {} : { images: here.images }),
        ...(given['with-machines'] && here.machines !== undefined ? { machines: here.machines } : {}),
      }
      const names = Object.keys(folders)
      return {
        says: [
          `The database${names.map(name => ` and the folder of ${name}`).join('')} are written into ${target}.`,
        ],
        data: { file: target, folders: names },
        target,
        async act() {
          const folderKey =
            masterKey === null && secrets && backupPassphrase !== null
              ? await sealByPassphrase(secrets.masterKey, backupPassphrase)
              : null
          const url = config.databaseUrl ?? embeddedUrlOf(config.dataDir, secrets?.databasePassword ?? '')
          const at = clock.now()
          const sums = await writeBackup({ file: target, url, folders, folderKey, at })
          const bytes = statSync(target).size
          return {
            data: { file: target, bytes, made_at: at.toISOString(), ...sums },
            text: `${target} is whole: ${holdsWords(sums)}, ${bytesSaid(bytes)}.\n`,
          }
        },
      }
    },
  }),
  looking({
    noun: 'backup',
    verb: 'check',
    summary: 'Reads a backup to its end, and says whether all of it is there',
    arguments: { file },
    options: {},
    examples: [['backup check /backups/berth-2026-11-27.tar.gz', 'exit status 1 where it is damaged']],
    async run({ clock }, given) {
      const { manifest, sums } = await inWords(checkBackup(resolve(given.file)))
      const at = new Date(manifest.made_at)
      const text = facts([
        ['Backup', 'is whole'],
        ['Made', `${minute(at)}, ${fromNow(at, clock.now())}`],
        ['Holds', holdsWords(sums)],
        ['Key', manifest.folder_key === null ? 'not in it: BERTH_MASTER_KEY' : 'sealed under its passphrase'],
      ])
      return { data: wireOf(manifest, sums), text }
    },
  }),
  changing({
    noun: 'backup',
    verb: 'restore',
    summary: 'Puts an installation back as a backup has it, and checks its books',
    details:
      'Its gateways must not run. The file is read to its end before anything is changed, and the database comes in one ' +
      'transaction. What is there already is only replaced with --replace, and its name typed.',
    destroys: true,
    logged: false,
    arguments: { file },
    options: { replace: flag('Removes what is there: its database and its images') },
    examples: [
      ['backup restore /backups/berth-2026-11-27.tar.gz', 'into an empty data folder or database'],
      [
        'backup restore /backups/berth.tar.gz --replace --confirm data',
        'in place of what is in the folder data',
      ],
    ],
    async plan({ config: read }, given) {
      const config = read()
      const source = resolve(given.file)
      const { manifest, sums } = await inWords(checkBackup(source))
      await inWords((async () => requireKnown(manifest))())
      const restore = { config, file: source, manifest, sums }
      await inWords(keyOf(restore))
      const there = await whatIsThere(config)
      if (there !== null && !given.replace) {
        throw new Refused(`There is an installation already, ${there}: say --replace to have it removed.`)
      }
      return {
        says: [
          ...(there === null ? [] : [`All that ${there} holds is removed.`]),
          `The installation is as it was at ${minute(new Date(manifest.made_at))}: ${holdsWords(sums)}.`,
        ],
        data: wireOf(manifest, sums),
        ...(there === null ? {} : { confirm: there }),
        target: source,
        async act() {
          const problems = await inWords(restoreInstallation(restore))
          const balanced = problems.length === 0
          const books = balanced ? 'The books balance.\n' : problems.map(problem => `${problem}\n`).join('')
          return {
            data: { ...wireOf(manifest, sums), balanced, problems },
            text: `The installation is as it was at ${minute(new Date(manifest.made_at))}. ${books}`,
            ...(balanced ? {} : { exit: EXIT.refused }),
          }
        },
      }
    },
  }),
]

function holdsWords({ rows, files }: Sums): string {
  const count = Object.values(rows).reduce((sum, one) => sum + one, 0)
  const folders = Object.entries(files).map(([name, many]) => `${counted(many, 'file')} of ${name}`)
  return [counted(count, 'row'), ...folders].join(', ')
}

const wireOf = (manifest: Manifest, { rows, files, sha256 }: Sums) => ({
  made_at: manifest.made_at,
  key_included: manifest.folder_key !== null,
  ...{ rows, files, sha256 },
})
