import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { root } from '../lib/paths.mjs'
import type { Break } from './breaks.ts'

/** Its packages are links from workspace to workspace, which must lead to the copy and not to the original. */
const OWN_SCOPE = '@berth'

/** A copy of the repository in which one thing is broken. */
export interface BrokenCopy {
  dir: string
  remove(): void
}

/**
 * Copies the repository's files and breaks one of them in the copy; packages are shared with the original.
 * @param files Paths of the repository's files, from the root.
 * @param broken What to break.
 */
export function makeBrokenCopy(files: readonly string[], broken: Break): BrokenCopy {
  const dir = mkdtempSync(join(tmpdir(), 'berth-broken-'))
  for (const file of files) {
    mkdirSync(join(dir, dirname(file)), { recursive: true })
    cpSync(join(root, file), join(dir, file), { verbatimSymlinks: true })
  }
  writeFileSync(join(dir, broken.file), breakText(broken, readFileSync(join(root, broken.file), 'utf8')))
  sharePackages(dir)
  return { dir, remove: () => rmSync(dir, { recursive: true, force: true }) }
}

/**
 * A text with its rule broken.
 * @throws Error when what is to be replaced does not stand there exactly once.
 */
export function breakText({ file, from, to }: Break, text: string): string {
  const parts = text.split(from)
  if (parts.length !== 2) throw new Error(`${file} has this ${parts.length - 1} times, not once: ${from}`)
  return parts.join(to)
}

function sharePackages(dir: string): void {
  for (const folder of ['node_modules', 'apps/console/node_modules']) {
    mkdirSync(join(dir, folder), { recursive: true })
    for (const name of namesIn(folder)) {
      if (name !== OWN_SCOPE) symlinkSync(join(root, folder, name), join(dir, folder, name))
    }
  }
  cpSync(join(root, 'node_modules', OWN_SCOPE), join(dir, 'node_modules', OWN_SCOPE), {
    recursive: true,
    verbatimSymlinks: true,
  })
}

/** npm makes a folder of packages for a workspace only where one must lie apart. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(join(root, folder))
  } catch {
    return []
  }
}
