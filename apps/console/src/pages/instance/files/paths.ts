/** Paths inside a machine: from the root down, by names. */

/** A name in a folder. */
export function inFolder(folder: string, name: string): string {
  return folder === '/' ? `/${name}` : `${folder}/${name}`
}

/** The folder that a path is in. */
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

/** The last name of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** The folders on the way to a path, the root first. */
export function crumbsOf(path: string): { name: string; path: string }[] {
  const names = path.split('/').filter(name => name !== '')
  return [
    { name: '/', path: '/' },
    ...names.map((name, at) => ({ name, path: `/${names.slice(0, at + 1).join('/')}` })),
  ]
}

/** Another name for a file that is to stand beside one of its name: `notes (2).txt`. */
export function numbered(path: string, number: number): string {
  const name = nameOf(path)
  const dot = name.lastIndexOf('.')
  const end = dot > 0 ? dot : name.length
  return inFolder(folderOf(path), `${name.slice(0, end)} (${number})${name.slice(end)}`)
}
