import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runQuietly } from './command.mjs'
import { pinnedNode, root, toolPath } from './paths.mjs'
import { withProgress } from './progress.mjs'

const CONSOLE = 'apps/console'
const INPUTS = [CONSOLE, 'packages/contract', 'package-lock.json', 'tsconfig.base.json']
const NOT_INPUTS = new Set(['node_modules', 'dist'])
// The build empties its folder first, so a broken build leaves no key and the next start builds again.
const KEY_FILE = join(root, CONSOLE, 'dist/.build-key')

/**
 * Builds the console, unless what is built already came from these very sources.
 * @returns {Promise<void>} Rejects with a `CommandError` that carries the build's output.
 */
export async function ensureConsoleBuilt() {
  const key = buildKey()
  if (existsSync(KEY_FILE) && readFileSync(KEY_FILE, 'utf8') === key) return
  await withProgress('Building the console', async () => {
    const env = { ...process.env, NODE_ENV: 'production' }
    await runQuietly(pinnedNode, [toolPath('vite', CONSOLE), 'build'], { cwd: join(root, CONSOLE), env })
  })
  writeFileSync(KEY_FILE, key)
}

function buildKey() {
  const hash = createHash('sha256')
  for (const path of INPUTS.flatMap(input => filesUnder(input))) {
    const content = readFileSync(join(root, path))
    hash.update(`${path} ${content.length}\n`).update(content)
  }
  return hash.digest('hex')
}

/**
 * @param {string} path A file or folder, from the root.
 * @returns {string[]} Its files in a fixed order.
 */
function filesUnder(path) {
  const absolute = join(root, path)
  if (!existsSync(absolute)) return []
  try {
    const entries = readdirSync(absolute, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
    return entries
      .filter(entry => !NOT_INPUTS.has(entry.name) && !/\.test\.tsx?$/.test(entry.name))
      .flatMap(entry =>
        entry.isDirectory() ? filesUnder(`${path}/${entry.name}`) : [`${path}/${entry.name}`],
      )
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') return [path]
    throw error
  }
}
