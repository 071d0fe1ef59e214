import { createWriteStream } from 'node:fs'
import { chmod, lchown, mkdir, realpath, rename, rm, symlink, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { makePrivateFolder } from '../data-dir.ts'
import type { TarPart } from '../tar/read-tar.ts'
import { BadBackup } from './backup-format.ts'

/** What a name comes to that is there already, or below something that is no folder, or is longer than any. */
const NO_PLACE: ReadonlySet<string> = new Set(['EEXIST', 'ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'])

/** Lays a folder of a backup beside its place, and puts it there once it is whole. */
export function createFolderLoad(folder: string) {
  const draft = `${folder}.restoring`

  return {
    async begin(): Promise<void> {
      await rm(draft, { recursive: true, force: true })
      makePrivateFolder(draft)
    },

    /** @param name Of the entry, below the folder. @throws BadBackup for one that leads out of it, or has no place there. */
    async take(name: string, { entry, bytes }: TarPart): Promise<void> {
      const parts = name.split('/')
      const badName = `The backup has a file of the name ${JSON.stringify(name)}.`
      if (parts.some(part => part === '' || part === '.' || part === '..') || name.includes('\0')) {
        throw new BadBackup(badName)
      }
      const path = join(draft, ...parts)
      try {
        // A link may lead anywhere, so nothing is laid behind one: what is there is what the folder has itself.
        const place = join(await realpath(draft), ...parts.slice(0, -1))
        if ((await realpath(dirname(path))) !== place) throw new BadBackup(badName)
        await lay(path, { entry, bytes }, badName)
      } catch (error) {
        const { code = '' } = error as NodeJS.ErrnoException
        throw NO_PLACE.has(code) ? new BadBackup(badName, { cause: error }) : error
      }
    },

    /** Puts it in place of what is there. */
    async end(): Promise<void> {
      const before = `${folder}.before-restore`
      await rm(before, { recursive: true, force: true })
      await mkdir(dirname(folder), { recursive: true })
      await rename(folder, before).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error
      })
      await rename(draft, folder)
      await rm(before, { recursive: true, force: true })
    },

    abandon: () => rm(draft, { recursive: true, force: true }),
  }
}

async function lay(path: string, { entry, bytes }: TarPart, badName: string): Promise<void> {
  if (entry.kind === 'folder') await mkdir(path)
  else if (entry.kind === 'symlink') await symlink(entry.target, path)
  else if (entry.kind === 'file') await pipeline(bytes, createWriteStream(path, { flags: 'wx' }))
  else throw new BadBackup(badName)
  if (process.getuid?.() === 0) await lchown(path, entry.uid, entry.gid)
  if (entry.kind === 'symlink') return
  await chmod(path, entry.mode)
  if (entry.kind === 'file') await utimes(path, entry.changed_s, entry.changed_s)
}
