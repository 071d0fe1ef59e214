import { createWriteStream } from 'node:fs'
import { chmod, lchown, mkdir, rename, rm, symlink, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { makePrivateFolder } from '../data-dir.ts'
import type { TarPart } from '../tar/read-tar.ts'
import { BadBackup } from './backup-format.ts'

/** Lays a folder of a backup beside its place, and puts it there once it is whole. */
export function createFolderLoad(folder: string) {
  const draft = `${folder}.restoring`
  const isRoot = process.getuid?.() === 0

  return {
    async begin(): Promise<void> {
      await rm(draft, { recursive: true, force: true })
      makePrivateFolder(draft)
    },

    /** @param name Of the entry, below the folder. @throws BadBackup for one that leads out of it. */
    async take(name: string, { entry, bytes }: TarPart): Promise<void> {
      const parts = name.split('/')
      if (parts.some(part => part === '' || part === '.' || part === '..') || name.includes('\0')) {
        throw new BadBackup(`The backup has a file of the name ${JSON.stringify(name)}.`)
      }
      const path = join(draft, ...parts)
      if (entry.kind === 'folder') await mkdir(path, { recursive: true })
      else if (entry.kind === 'symlink') await symlink(entry.target, path)
      else if (entry.kind === 'file') await pipeline(bytes, createWriteStream(path, { flags: 'wx' }))
      else throw new BadBackup(`The backup has something odd: ${JSON.stringify(name)}.`)
      if (isRoot) await lchown(path, entry.uid, entry.gid)
      if (entry.kind === 'symlink') return
      await chmod(path, entry.mode)
      if (entry.kind === 'file') await utimes(path, entry.changed_s, entry.changed_s)
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
