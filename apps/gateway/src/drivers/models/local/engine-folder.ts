import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { Unfit } from './unfit.ts'

const PACKAGE = 'node-llama-cpp'
/** Of it and of its program for this computer. */
const ENGINE_VERSION = '3.22.1'
/** Its module, from the folder in which npm put it. */
export const ENGINE_ENTRY = `node_modules/${PACKAGE}/dist/index.js`
const INSTALL_MS = 600_000
const TOLD_EVERY_MS = 5_000
const ERROR_CHARS_MAX = 500

/** The package's programs that work with the processor alone; those for graphics cards are some 600 MB more. */
const PROGRAMS: Readonly<Record<string, string>> = {
  'linux x64': 'linux-x64',
  'linux arm64': 'linux-arm64',
}

interface EngineDeps {
  log: Pick<Logger, 'info'>
  signal: AbortSignal
  /** The operator's own, that has it already; null: none. */
  given: string | null
  /** Where it is kept otherwise, one folder for each version. */
  folder: string
}

/**
 * Makes sure of `node-llama-cpp`: the operator's own, or one that npm puts into the data folder, once. None of the package's
 * scripts is run.
 * @returns The module's path.
 * @throws Unfit where there is none for this computer; Error where npm fails.
 */
export async function engineModule({ given, folder, log, signal }: EngineDeps): Promise<string> {
  if (given !== null) {
    const module = join(given, ENGINE_ENTRY)
    if (existsSync(module)) return module
    throw new Unfit(`BERTH_LOCAL_MODEL_ENGINE has no ${PACKAGE}: ${module} is not there`)
  }
  const whole = join(folder, `${PACKAGE}-${ENGINE_VERSION}`)
  if (existsSync(join(whole, ENGINE_ENTRY))) return join(whole, ENGINE_ENTRY)
  const program = PROGRAMS[`${process.platform} ${process.arch}`]
  if (!program) throw new Unfit(`${PACKAGE} has no program for ${process.platform} on ${process.arch}`)
  const making = `${whole}.new`
  await rm(making, { recursive: true, force: true })
  await mkdir(making, { recursive: true, mode: 0o700 })
  const startedAt = performance.now()
  const tell = async () => {
    const seconds = Math.round((performance.now() - startedAt) / 1_000)
    const packages = await readdir(join(making, 'node_modules')).catch(() => [])
    log.info({ seconds, packages: packages.length }, `${PACKAGE} is being installed, some 85 MB`)
  }
  await tell()
  const telling = setInterval(() => void tell(), TOLD_EVERY_MS)
  try {
    await install(
      making,
      [`${PACKAGE}@${ENGINE_VERSION}`, `@${PACKAGE}/${program}@${ENGINE_VERSION}`],
      signal,
    )
  } finally {
    clearInterval(telling)
  }
  await rename(making, whole)
  for (const other of await readdir(folder)) {
    const isOlder = other.startsWith(`${PACKAGE}-`) && join(folder, other) !== whole
    if (isOlder) await rm(join(folder, other), { recursive: true, force: true })
  }
  return join(whole, ENGINE_ENTRY)
}

function install(folder: string, packages: readonly string[], signal: AbortSignal): Promise<void> {
  const quiet = ['--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts', '--omit=optional']
  const child = spawn('npm', ['install', '--prefix', folder, ...quiet, ...packages], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
    signal: AbortSignal.any([signal, AbortSignal.timeout(INSTALL_MS)]),
  })
  let said = ''
  child.stderr.on('data', piece => {
    said = `${said}${String(piece)}`.slice(-ERROR_CHARS_MAX)
  })
  return new Promise((resolve, reject) => {
    child.once('error', error =>
      reject(new Error('npm could not install the engine of the local model', { cause: error })),
    )
    child.once('close', code => {
      if (code === 0) resolve()
      else reject(new Error(`npm could not install the engine of the local model: ${said.trim()}`))
    })
  })
}
