import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { runQuietly } from './command.mjs'
import { machinePath, pinnedNode, root } from './paths.mjs'
import { withProgress } from './progress.mjs'

// Inside node_modules, so that deleting that folder also forgets that it was ever filled.
const MARKER = join(root, 'node_modules/.berth-install')

/**
 * Installs the lockfile's packages, unless exactly these are installed already.
 * @returns {Promise<void>} Rejects with a `CommandError` that carries npm's output.
 */
export async function ensureInstalled() {
  const key = installKey()
  if (read(MARKER) === key && existsSync(pinnedNode)) return
  if (!installedByHand()) {
    const first = !existsSync(join(root, 'node_modules'))
    const when = first ? 'first run only, about a minute' : 'the lockfile changed, about a minute'
    await withProgress(`Installing packages (${when})`, npmCi)
    if (!existsSync(pinnedNode)) {
      throw new Error(
        'The install ended well but left no Node behind: are install scripts switched off in npm?',
      )
    }
  }
  writeFileSync(MARKER, key)
}

/** Packages differ by platform too: a clone may be shared between machines. */
function installKey() {
  const lockfile = readFileSync(join(root, 'package-lock.json'))
  return createHash('sha256').update(`${process.platform} ${process.arch}\n`).update(lockfile).digest('hex')
}

/** Development packages hold the pinned Node and the build, so they are wanted under NODE_ENV=production too. */
async function npmCi() {
  const args = ['ci', '--include=dev', '--ignore-scripts=false', '--prefer-offline']
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error']
  const env = { ...process.env, PATH: machinePath() }
  const cli = process.env.npm_execpath
  if (cli === undefined) await runQuietly('npm', [...args, ...quiet], { cwd: root, env })
  else await runQuietly(machineNode(env.PATH), [cli, ...args, ...quiet], { cwd: root, env })
}

/** @param {string} path */
function machineNode(path) {
  const name = process.platform === 'win32' ? 'node.exe' : 'node'
  const found = path.split(delimiter).find(folder => folder !== '' && existsSync(join(folder, name)))
  return found === undefined ? process.execPath : join(found, name)
}

/**
 * Somebody who works on Berth runs `npm install` themselves; npm then leaves a record of what it put where.
 * @returns {boolean} Whether that record holds every package that this machine needs.
 */
function installedByHand() {
  const record = read(join(root, 'node_modules/.package-lock.json'))
  if (record === undefined || !existsSync(pinnedNode)) return false
  const wanted = packagesOf(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const present = packagesOf(record)
  return Object.entries(wanted).every(([path, wants]) => {
    if (!path.startsWith('node_modules/') || wants.optional === true || wants.link === true) return true
    return present[path]?.version === wants.version && existsSync(join(root, path))
  })
}

/**
 * @param {string} lockfile
 * @returns {Record<string, { version?: string, optional?: boolean, link?: boolean }>}
 */
function packagesOf(lockfile) {
  return JSON.parse(lockfile).packages ?? {}
}

/** @param {string} path */
function read(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}
