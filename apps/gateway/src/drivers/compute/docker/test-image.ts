import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, copyFile, mkdir, mkdtemp, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type Docker from 'dockerode'

const run = promisify(execFile)

/** What the conformance suite and the whole-path tests use in a machine. */
const PROGRAMS = (
  'bash sh ls cat echo env id hostname stty tty sleep seq head tail cut tr wc grep sed chmod chown mkdir rm mv cp ' +
  'ln touch true false printf test expr date dd du df mount setsid kill ps sort uniq od base64 uname sync find perl stat fallocate'
).split(' ')

const LAYER_BYTES_MAX = 256 * 1024 ** 2
const SEARCH_PATH = '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin'

/**
 * Makes a small Docker image out of this computer's own programs and the libraries that they need, so that
 * tests need no network and no registry. Returns its reference. Made once; the same programs give the same.
 * @param more Programs beside the usual ones.
 */
export async function importTestImage(docker: Docker, more: readonly string[] = []): Promise<string> {
  const files = await filesNeeded(more)
  const tag = createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 12)
  const reference = `berth-test:${tag}`
  try {
    await docker.getImage(reference).inspect()
    return reference
  } catch {
    // Not made yet.
  }
  const tree = await mkdtemp(join(tmpdir(), 'berth-test-image-'))
  try {
    await buildTree(tree, files)
    const tar = spawn('tar', ['-C', tree, '--owner=0', '--group=0', '-c', '.'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const answer = await docker.importImage(tar.stdout, {
      repo: 'berth-test',
      tag,
      changes: ['WORKDIR /root', 'ENV PATH=/usr/local/bin:/usr/bin:/bin', 'CMD ["bash"]'],
    })
    await new Promise<void>((resolve, reject) => {
      docker.modem.followProgress(answer, error => (error ? reject(error) : resolve()))
    })
    return reference
  } finally {
    await rm(tree, { recursive: true, force: true })
  }
}

/**
 * Lays the same programs and folders into an empty folder.
 * @param more Programs beside those; a path stays where it is.
 */
export async function layTestTree(folder: string, more: readonly string[] = []): Promise<void> {
  await buildTree(folder, await filesNeeded(more))
}

/** A layer of those programs, not packed. */
export async function testLayer(more: readonly string[] = []): Promise<Buffer> {
  const tree = await mkdtemp(join(tmpdir(), 'berth-test-layer-'))
  try {
    await layTestTree(tree, more)
    const { stdout } = await run('tar', ['-C', tree, '--owner=0', '--group=0', '--sort=name', '-c', '.'], {
      encoding: 'buffer',
      maxBuffer: LAYER_BYTES_MAX,
    })
    return stdout
  } finally {
    await rm(tree, { recursive: true, force: true })
  }
}

interface NeededFile {
  from: string
  to: string
  size: number
  changedMs: number
}

/** Programs go to /usr/bin; libraries keep the place at which the loader looks for them. */
async function filesNeeded(more: readonly string[] = []): Promise<NeededFile[]> {
  const places = new Map<string, string>()
  for (const program of [...PROGRAMS, ...more]) {
    const isPath = program.startsWith('/')
    const path = isPath ? program : await which(program)
    if (!path) continue
    places.set(isPath ? program : `/usr/bin/${program}`, await realpath(path))
    for (const library of await librariesOf(path)) places.set(library, await realpath(library))
  }
  const files = [...places].map(async ([to, from]) => {
    const { size, mtimeMs } = await stat(from)
    return { from, to, size, changedMs: mtimeMs }
  })
  return Promise.all(files)
}

async function buildTree(tree: string, files: NeededFile[]): Promise<void> {
  for (const dir of [
    'usr/bin',
    'usr/lib',
    'usr/lib64',
    'usr/sbin',
    'etc',
    'root',
    'tmp',
    'proc',
    'dev',
    'sys',
    'var',
    'mnt',
  ]) {
    await mkdir(join(tree, dir), { recursive: true })
  }
  for (const name of ['bin', 'lib', 'lib64', 'sbin']) await symlink(`usr/${name}`, join(tree, name))
  for (const { from, to } of files) {
    const path = join(tree, to)
    await mkdir(dirname(path), { recursive: true })
    await copyFile(from, path)
    await chmod(path, 0o755)
  }
  await chmod(join(tree, 'tmp'), 0o1777)
  await writeFile(join(tree, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/bash\n')
  await writeFile(join(tree, 'etc/group'), 'root:x:0:\n')
}

async function which(program: string): Promise<string | null> {
  for (const dir of SEARCH_PATH.split(':')) {
    const path = join(dir, basename(program))
    const found = await stat(path).catch(() => null)
    if (found?.isFile()) return path
  }
  return null
}

/** What the loader would load, as `ldd` tells; nothing for scripts and static programs. */
async function librariesOf(path: string): Promise<string[]> {
  try {
    const { stdout } = await run('ldd', [path])
    return [...stdout.matchAll(/(?:=> )?(\/\S+) \(0x/g)].flatMap(match => (match[1] ? [match[1]] : []))
  } catch {
    return []
  }
}
