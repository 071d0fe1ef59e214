import { createHash } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { FILTER_FILE } from './filter-loader.ts'
import { machineScripts } from './machine-scripts.ts'
import type { AgentFiles } from './root-view.ts'
import { assembleFilter } from './syscall-filter.ts'

interface Script {
  name: string
  text: string | Buffer
}

/**
 * Writes the agent's scripts under `dataDir`, with the filter of system calls, and finds the other files that it needs.
 * The folder's name holds a digest of its content, so that machines that an older gateway started keep theirs.
 */
export async function prepareAgentFiles(dataDir: string): Promise<AgentFiles> {
  const scripts: Script[] = [...(await machineScripts())]
  const filter = assembleFilter(process.arch)
  if (filter) scripts.push({ name: FILTER_FILE, text: filter })
  const digest = createHash('sha256').update(JSON.stringify(scripts)).digest('hex').slice(0, 12)
  const dir = join(dataDir, 'agents', digest)
  await writeOnce(dir, scripts)
  return { node: process.execPath, pty: findPtyBinary(), scripts: dir }
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
