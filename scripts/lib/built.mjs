import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runQuietly } from './command.mjs'
import { pinnedNode, root, toolPath } from './paths.mjs'
import { withProgress } from './progress.mjs'

const NOT_INPUTS = new Set(['node_modules', 'dist'])

/**
 * What is built of sources.
 * @typedef {object} Build
 * @property {string} label What is being done, such as `Building the console`.
 * @property {string} workspace Its folder, from the root. The build is its `dist`, which the command empties first.
 * @property {string} tool The command of a package that builds it, in that folder.
 * @property {readonly string[]} args
 * @property {readonly string[]} inputs Files and folders that it is made of, from the root.
 */

/**
 * Builds something, unless what is built already came from these very sources.
 * @param {Build} build
 * @returns {Promise<void>} Rejects with a `CommandError` that carries the build's output.
 */
export async function ensureBuilt({ label, workspace, tool, args, inputs }) {
  // The build empties its folder first, so a broken build leaves no key and the next start builds again.
  const keyFile = join(root, workspace, 'dist/.build-key')
  const key = keyOf(inputs)
  if (existsSync(keyFile) && readFileSync(keyFile, 'utf8') === key) return
  await withProgress(label, async () => {
    const env = { ...process.env, NODE_ENV: 'production' }
    await runQuietly(pinnedNode, [toolPath(tool, workspace), ...args], { cwd: join(root, workspace), env })
  })
  writeFileSync(keyFile, key)
}

/** @param {readonly string[]} inputs */
function keyOf(inputs) {
  const hash = createHash('sha256')
  for (const path of inputs.flatMap(input => filesUnder(input))) {
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
