import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** By this keepers speak with their guests, and this is what it needs, each found from the one before its dot. */
const LIBRARY = 'ssh2'
const NEEDED = ['asn1', 'bcrypt-pbkdf'] as const
const NEEDED_BY_THOSE = [
  ['asn1', 'safer-buffer'],
  ['bcrypt-pbkdf', 'tweetnacl'],
] as const

/** Folders of packages that no program needs. */
const LEFT_OUT = new Set(['node_modules', 'test', 'tests', 'examples', 'src', 'install.js'])

/**
 * Copies the library by which keepers speak with their guests' SSH servers to `dataDir`, once for each version of it: a
 * keeper that an older gateway started may load it after another version has taken its place among the gateway's own.
 * @returns The folder that holds the packages.
 */
export async function prepareGuestLibraries(dataDir: string): Promise<string> {
  const from = folderOf(import.meta.filename, LIBRARY)
  const folders = new Map<string, string>([[LIBRARY, from]])
  for (const name of NEEDED) folders.set(name, folderOf(join(from, 'package.json'), name))
  for (const [by, name] of NEEDED_BY_THOSE) {
    folders.set(name, folderOf(join(folders.get(by) ?? from, 'package.json'), name))
  }
  const { version } = JSON.parse(await readFile(join(from, 'package.json'), 'utf8')) as { version: string }
  const dir = join(dataDir, 'libraries', `${LIBRARY}-${version}`)
  if (existsSync(dir)) return dir
  const made = `${dir}.${process.pid}`
  await mkdir(made, { recursive: true, mode: 0o755 })
  for (const [name, folder] of folders) {
    await cp(folder, join(made, name), {
      recursive: true,
      filter: path => path === folder || !LEFT_OUT.has(path.slice(folder.length + 1).split('/')[0] ?? ''),
    })
  }
  try {
    // One of the right name is always whole.
    await rename(made, dir)
  } catch (error) {
    await rm(made, { recursive: true, force: true })
    if (!existsSync(dir)) throw error
  }
  return dir
}

/** Where a package lies that a file needs. */
function folderOf(file: string, name: string): string {
  return dirname(createRequire(file).resolve(`${name}/package.json`))
}
