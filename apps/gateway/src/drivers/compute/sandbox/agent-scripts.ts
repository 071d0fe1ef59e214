import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { FILTER_FILE } from './filter-loader.ts'
import type { AgentFiles } from './root-view.ts'
import { assembleFilter } from './syscall-filter.ts'

/** Laid into one folder, so no two of them may have a file of the same name. */
const SOURCES = ['agent', '../sessions', '../oci/unpack', '../qemu/keeper'].map(name =>
  join(import.meta.dirname, name),
)

interface Script {
  name: string
  text: string | Buffer
}

/**
 * Writes the agent's scripts as plain JavaScript under `dataDir`, with the filter of system calls, and finds the other files that it needs.
 * Having the types off beforehand saves each machine some 40 ms and 18 MB at start. The folder's name holds
 * a digest of its content, so that machines that an older gateway started keep theirs.
 */
export async function prepareAgentFiles(dataDir: string): Promise<AgentFiles> {
  const listed = await Promise.all(
    SOURCES.map(async dir => (await readdir(dir)).sort().map(name => ({ dir, name }))),
  )
  const files = listed.flat().filter(({ name }) => !name.endsWith('.test.ts'))
  const scripts: Script[] = await Promise.all(
    files.map(async ({ dir, name }) => {
      const source = await readFile(join(dir, name), 'utf8')
      if (!name.endsWith('.ts')) return { name, text: source }
      return { name: name.replace(/\.ts$/, '.mjs'), text: toJavaScript(source) }
    }),
  )
  const filter = assembleFilter(process.arch)
  if (filter) scripts.push({ name: FILTER_FILE, text: filter })
  const digest = createHash('sha256').update(JSON.stringify(scripts)).digest('hex').slice(0, 12)
  const dir = join(dataDir, 'agents', digest)
  await writeOnce(dir, scripts)
  return { node: process.execPath, pty: findPtyBinary(), scripts: dir }
}

function toJavaScript(source: string): string {
  return stripQuietly(source).replaceAll(/from '\.{1,2}\/(?:[a-z./-]+\/)?([a-z-]+)\.ts'/g, "from './$1.mjs'")
}

/**
 * Node runs the gateway itself by the same stripping, without a word; only the function that lends it to
 * programs still warns that its shape may change. Operators can do nothing with that, so it is not shown.
 */
function stripQuietly(source: string): string {
  const { emitWarning } = process
  process.emitWarning = () => undefined
  try {
    return stripTypeScriptTypes(source)
  } finally {
    process.emitWarning = emitWarning
  }
}

/** Writes the folder under another name first, so that a folder of the right name is always complete. */
async function writeOnce(dir: string, scripts: Script[]): Promise<void> {
  const made = `${dir}.${process.pid}`
  await mkdir(made, { recursive: true, mode: 0o755 })
  for (const { name, text } of scripts) await writeFile(join(made, name), text, { mode: 0o644 })
  try {
    await rename(made, dir)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error
    await rm(made, { recursive: true, force: true })
  }
}

function findPtyBinary(): string {
  const require = createRequire(createRequire(import.meta.url).resolve('@lydell/node-pty'))
  return require.resolve(`@lydell/node-pty-${process.platform}-${process.arch}/pty.node`)
}
