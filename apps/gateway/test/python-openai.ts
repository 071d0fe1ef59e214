import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

const CACHE = resolve(import.meta.dirname, '../../../node_modules/.cache/berth')
/** A folder of Python with the client in it, which later runs find. */
const FOLDER = join(CACHE, 'python-openai')
/** It is some megabytes; who has no way to PyPI knows much sooner. */
const INSTALL_MS = 90_000

const run = promisify(execFile)

/**
 * A Python that has OpenAI's own client: that of the computer, or one that is made once, with the client from PyPI.
 * @returns Its program, or why there is none.
 */
export async function pythonWithOpenai(): Promise<{ program: string } | { why: string }> {
  const made = join(FOLDER, 'bin/python')
  for (const program of ['python3', made]) if (await hasOpenai(program)) return { program }
  const making = `${FOLDER}.${process.pid}`
  try {
    await mkdir(CACHE, { recursive: true })
    await run('python3', ['-m', 'venv', making], { timeout: INSTALL_MS })
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--retries', '0', 'openai']
    await run(join(making, 'bin/python'), pip, { timeout: INSTALL_MS })
    // Programs of such a folder know it by its path, its Python does not.
    if (!existsSync(FOLDER)) await rename(making, FOLDER)
    return { program: made }
  } catch (error) {
    const [line = ''] = String((error as { stderr?: string }).stderr ?? error).split('\n')
    return { why: `no Python here has OpenAI's client, and none could be made: ${line}` }
  } finally {
    await rm(making, { recursive: true, force: true })
  }
}

async function hasOpenai(program: string): Promise<boolean> {
  return await run(program, ['-c', 'import openai']).then(
    () => true,
    () => false,
  )
}
