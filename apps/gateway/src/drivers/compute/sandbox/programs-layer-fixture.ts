import { execFileSync } from 'node:child_process'
import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { layTestTree } from '../docker/test-image.ts'

/**
 * A layer for tests: this computer's own programs, with a home as people leave it, a user `me`, and a file that is
 * its root's alone.
 * @param folder Where it is made; it stays there.
 */
export async function programsLayer(folder: string): Promise<Buffer> {
  const tree = join(folder, 'tree')
  mkdirSync(tree)
  await layTestTree(tree)
  writeFileSync(join(tree, 'root/.bashrc'), 'PS1="\\u@\\h:\\w\\$ "\n')
  writeFileSync(join(tree, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\nme:x:1000:1001::/home/me:/bin/sh\n')
  writeFileSync(join(tree, 'etc/shadow'), 'kept\n', { mode: 0o600 })
  mkdirSync(join(tree, 'home/me'), { recursive: true })
  if (process.getuid?.() === 0) chownSync(join(tree, 'home/me'), 1000, 1001)
  return execFileSync('tar', ['-C', tree, '-c', '.'], { maxBuffer: 200 * 1024 * 1024 })
}
