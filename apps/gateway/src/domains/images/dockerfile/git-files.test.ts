import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type GitServer, startGitServer } from '../../../../test/git-server.ts'
import { isInstalled } from '../../../drivers/compute/oci/registry-fixture.ts'
import { createGitFiles } from './git-files.ts'

const missing = ['git', 'openssl'].find(name => !isInstalled(name))
if (missing) process.stdout.write(`SKIP files of hostile repositories: ${missing} is not installed\n`)

/** Names in each tree, and how deep they lie: a billion in all. */
const WIDTH = 10
const DEPTH = 9

describe.skipIf(missing)('files of hostile repositories', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-hostile-git-'))
  let server: GitServer
  beforeAll(async () => {
    server = await startGitServer(folder, { Dockerfile: 'FROM scratch', 'few/Dockerfile': 'FROM scratch' })
  })
  afterAll(() => {
    server?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** Runs git in what is served. */
  const git = (words: string[], input = '') =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', ...words], {
      cwd: join(folder, 'served/repo.git'),
      input,
    })
      .toString()
      .trim()
  /** Makes a branch of trees that hold one tree under many names, down to what lies at the bottom. */
  function bomb(name: string, bottom: string): void {
    let row = bottom
    for (let depth = 0; depth < DEPTH; depth += 1) {
      const rows = Array.from({ length: WIDTH }, (_, index) => `${row}\tn${index}\n`)
      row = `040000 tree ${git(['mktree'], rows.join(''))}`
    }
    const file = git(['rev-parse', 'main:Dockerfile'])
    const root = git(['mktree'], `100644 blob ${file}\tDockerfile\n${row}\tbomb\n`)
    git(['update-ref', `refs/heads/${name}`, git(['commit-tree', root, '-m', name])])
  }
  const fetch = (ref: string, within = '') =>
    createGitFiles({
      outbound: { addressesOf: async () => ['127.0.0.1'] },
      authorityFile: server.authorityFile,
    }).fetch({ url: server.url, ref, folder: within }, new AbortController().signal)

  test('[R4.6] a repository of a few bytes that names a billion files, or folders, is refused before they are remembered', async () => {
    bomb('files', `100644 blob ${git(['rev-parse', 'main:Dockerfile'])}`)
    bomb('folders', `040000 tree ${git(['mktree'])}`)
    for (const ref of ['files', 'folders']) {
      await expect(fetch(ref)).rejects.toThrow(/the folder has more than 50000 files/)
    }
  })

  test('[R4.6] what a gateway that was killed has left is removed, and what another one works on is not', async () => {
    const [left, inUse] = [1, 2].map(() => mkdtempSync(join(tmpdir(), 'berth-git-'))) as [string, string]
    utimesSync(left, 0, Date.now() / 1_000 - 25 * 3_600)
    const few = await fetch('main', 'few')
    expect(few.dockerfile).toBe('FROM scratch')
    await few.close()
    expect([left, inUse].map(existsSync)).toEqual([false, true])
    rmSync(inUse, { recursive: true })
  })
})
