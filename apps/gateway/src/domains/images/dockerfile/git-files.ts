import { spawn } from 'node:child_process'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { BUILD_CONTEXT_MB_MAX, DOCKERFILE_CHARS_MAX } from '@berth/contract/build-limits'
import { readTar } from '../../../platform/tar/read-tar.ts'
import { tarHeader, tarPadding } from '../../../platform/tar/tar-writer.ts'
import type { Outbound } from '../../registries/registries.ts'
import type { GitSource } from '../tables.ts'
import { openConnectProxy } from './connect-proxy.ts'

const CONTEXT_BYTES_MAX = BUILD_CONTEXT_MB_MAX * 2 ** 20
const ENTRIES_MAX = 50_000
/** Headers of so many entries, with the longest names. */
const OVERHEAD_BYTES_MAX = 64 * 2 ** 20
const FETCH_MS_MAX = 300_000
const SAID_CHARS_MAX = 2_000
const PREFIX = 'berth-git-'
const LEFT_MS = 24 * 3_600_000
const SEARCH_PATH = '/usr/local/bin:/usr/bin:/bin'
const CPU_SECONDS_MAX = 120
const MEMORY_KB_MAX = 2_000_000

/** Bounds that the system holds, whatever a repository brings git to do; a file's are counted in 512 bytes. */
const BOUNDS = `ulimit -c 0; ulimit -f ${CONTEXT_BYTES_MAX / 512}; ulimit -t ${CPU_SECONDS_MAX}; ulimit -v ${MEMORY_KB_MAX}; exec "$0" "$@"`

/** What no file of anybody's may say otherwise. */
const SETTINGS = [
  ...[
    'protocol.allow=never',
    'protocol.https.allow=always',
    'http.followRedirects=false',
    'credential.helper=',
  ],
  ...[
    'core.hooksPath=/dev/null',
    'core.fsmonitor=false',
    'submodule.recurse=false',
    'fetch.fsckObjects=true',
  ],
  ...['gc.auto=0', 'pack.threads=1', 'fetch.unpackLimit=1'],
].flatMap(setting => ['-c', setting])

/** Files of a repository could not be had. `message` is for its customer, in English. */
export class GitError extends Error {
  readonly code: 'git_failed' | 'too_large'
  constructor(code: GitError['code'], message: string) {
    super(message)
    this.name = 'GitError'
    this.code = code
  }
}

export interface GitFiles {
  /** Whether this gateway's computer has git. */
  readonly isHere: boolean
  /**
   * Takes the files of a folder of a repository as they are in it, with no program of it run, by HTTPS from the public
   * internet alone. Git runs beside the gateway, within bounds of time, memory and bytes; nothing is checked out.
   * @throws GitError.
   */
  fetch(source: GitSource, signal: AbortSignal): Promise<FetchedFiles>
}

export interface FetchedFiles {
  dockerfile: string
  /** All files as a tar without its end, each time that it is called. */
  open(): AsyncIterable<Uint8Array>
  /** Removes them. */
  close(): Promise<void>
}

/**
 * @param authorityFile Authorities in PEM by which hosts of repositories are believed; null: those of the computer.
 */
export function createGitFiles(deps: {
  outbound: Pick<Outbound, 'addressesOf'>
  authorityFile: string | null
}): GitFiles {
  return {
    isHere: SEARCH_PATH.split(':').some(folder => existsSync(join(folder, 'git'))),
    async fetch(source, givenUp) {
      await removeLeft()
      const folder = await mkdtemp(join(tmpdir(), PREFIX))
      const tooMuch = new AbortController()
      const proxy = await openConnectProxy(deps.outbound, CONTEXT_BYTES_MAX, () =>
        tooMuch.abort(new GitError('too_large', `the repository has more than ${BUILD_CONTEXT_MB_MAX} MB`)),
      )
      const late = AbortSignal.timeout(FETCH_MS_MAX)
      const signal = AbortSignal.any([givenUp, tooMuch.signal, late])
      const git = {
        repository: join(folder, 'repository'),
        proxy: proxy.url,
        authority: deps.authorityFile,
        signal,
      }
      try {
        await text(git, ['init', '--bare', '--quiet', git.repository])
        const wanted = source.ref === '' ? 'HEAD' : source.ref
        await text(git, [
          'fetch',
          '--quiet',
          '--depth=1',
          '--no-tags',
          '--no-recurse-submodules',
          '--',
          source.url,
          wanted,
        ])
        const tree = `FETCH_HEAD^{commit}:${source.folder}`
        const file = source.folder === '' ? 'Dockerfile' : `${source.folder}/Dockerfile`
        const dockerfile = await text(
          git,
          ['cat-file', 'blob', `FETCH_HEAD:${file}`],
          DOCKERFILE_CHARS_MAX * 4,
        )
        await mustBeFew(git, tree)
        const path = join(folder, 'files.tar')
        const running = run(git, ['archive', '--format=tar', tree])
        await pipeline(
          Readable.from(plainFiles(running.output), { objectMode: false }),
          createWriteStream(path),
          { signal },
        )
        await running.ended
        await rm(git.repository, { recursive: true, force: true })
        return {
          dockerfile,
          open: () => createReadStream(path),
          close: () => rm(folder, { recursive: true, force: true }),
        }
      } catch (error) {
        await rm(folder, { recursive: true, force: true })
        if (tooMuch.signal.aborted) throw tooMuch.signal.reason
        givenUp.throwIfAborted()
        if (late.aborted) throw new GitError('git_failed', 'the repository sends too slowly')
        if (error instanceof GitError) throw error
        throw new GitError('git_failed', error instanceof Error ? error.message : String(error))
      } finally {
        proxy.close()
      }
    },
  }
}

/** Removes what gateways that were killed have left: no build takes as long. */
async function removeLeft(): Promise<void> {
  const names = await readdir(tmpdir())
  for (const name of names.filter(one => one.startsWith(PREFIX))) {
    const path = join(tmpdir(), name)
    const found = await stat(path).catch(() => null)
    if (found && Date.now() - found.mtimeMs > LEFT_MS) await rm(path, { recursive: true, force: true })
  }
}

interface GitPlace {
  repository: string
  proxy: string
  authority: string | null
  signal: AbortSignal
}

/** Runs git with nothing of ours about it; it fails with the last that git said. */
function run({ repository, proxy, authority, signal }: GitPlace, words: string[]) {
  const place = words[0] === 'init' ? [] : ['-C', repository]
  const child = spawn('/bin/sh', ['-c', BOUNDS, 'git', ...SETTINGS, ...place, ...words], {
    cwd: '/',
    env: {
      PATH: SEARCH_PATH,
      HOME: '/nonexistent',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_ATTR_NOSYSTEM: '1',
      GIT_TERMINAL_PROMPT: '0',
      GIT_ASKPASS: '/bin/false',
      GIT_ALLOW_PROTOCOL: 'https',
      GIT_HTTP_PROXY_AUTHMETHOD: 'basic',
      LC_ALL: 'C.UTF-8',
      https_proxy: proxy,
      http_proxy: proxy,
      no_proxy: '',
      ...(authority !== null && { GIT_SSL_CAINFO: authority }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // It has helpers, which are to end with it.
    detached: true,
  })
  const end = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has ended.
    }
  }
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  let said = ''
  child.stderr.on('data', (piece: Buffer) => {
    said = (said + piece.toString()).slice(-SAID_CHARS_MAX)
  })
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, killedBy) => {
      signal.removeEventListener('abort', end)
      if (code === 0) resolve()
      else if (killedBy === 'SIGXFSZ')
        reject(new GitError('too_large', `more than ${BUILD_CONTEXT_MB_MAX} MB`))
      else reject(new GitError('git_failed', said.trim() || `git ended with ${code ?? killedBy}`))
    })
  })
  ended.catch(() => undefined)
  return { output: child.stdout, ended, end }
}

/**
 * Counts what a folder holds. A few small trees may name each other so often that there are billions of files, and git
 * remembers them all before it writes the first into an archive; here it names them as it goes.
 */
async function mustBeFew(place: GitPlace, tree: string): Promise<void> {
  const { output, ended, end } = run(place, ['ls-tree', '-r', '-t', '-z', '--name-only', tree])
  let entries = 0
  let bytes = 0
  for await (const piece of output as AsyncIterable<Buffer>) {
    for (const byte of piece) if (byte === 0) entries += 1
    bytes += piece.length
    if (entries <= ENTRIES_MAX && bytes <= OVERHEAD_BYTES_MAX) continue
    end()
    throw tooMany()
  }
  await ended
}

const tooMany = () => new GitError('too_large', `the folder has more than ${ENTRIES_MAX} files`)

/** What git writes as text. */
async function text(place: GitPlace, words: string[], bytesMax = SAID_CHARS_MAX): Promise<string> {
  const { output, ended, end } = run(place, words)
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of output as AsyncIterable<Buffer>) {
    length += piece.length
    if (length > bytesMax) {
      end()
      throw new GitError('too_large', `the Dockerfile has more than ${DOCKERFILE_CHARS_MAX} characters`)
    }
    pieces.push(piece)
  }
  await ended
  return Buffer.concat(pieces).toString('utf8')
}

/** Files, folders and links of an archive, as many and as large as may be, without its end. */
async function* plainFiles(archive: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytesSoFar = 0
  let entries = 0
  for await (const { entry, bytes } of readTar(archive, OVERHEAD_BYTES_MAX)) {
    const { name, kind, size, target, mode } = entry
    entries += 1
    bytesSoFar += size
    if (entries > ENTRIES_MAX) throw tooMany()
    if (bytesSoFar > CONTEXT_BYTES_MAX)
      throw new GitError('too_large', `the folder has more than ${BUILD_CONTEXT_MB_MAX} MB`)
    if (kind === 'folder') yield tarHeader({ name, type: 'folder', mode })
    if (kind === 'symlink') yield tarHeader({ name, type: 'symlink', mode, target })
    if (kind !== 'file') continue
    yield tarHeader({ name, type: 'file', mode, size })
    yield* bytes
    yield tarPadding(size)
  }
}
