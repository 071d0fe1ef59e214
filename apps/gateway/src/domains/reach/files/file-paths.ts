import { createHash } from 'node:crypto'

/** The folder that a file is in. */
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

/** The name of a file in its folder. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

const DIGITS = 24

/**
 * Where what has come of a file waits until it is whole: beside it, hidden, by a name that the same file has again when
 * somebody goes on with it, through whichever gateway.
 */
export function partOf({
  path,
  size,
  modified_at,
}: {
  path: string
  size: number
  modified_at: number
}): string {
  const file = createHash('sha256')
    .update(JSON.stringify([path, size, modified_at]))
    .digest('hex')
  const folder = folderOf(path)
  return `${folder === '/' ? '' : folder}/.berth-${file.slice(0, DIGITS)}.part`
}
