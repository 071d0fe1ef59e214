import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { takeLock } from '../../../platform/host-lock.ts'
import { createLoop } from '../../../platform/loop.ts'
import { touch } from '../oci/image-files.ts'

const TIDY_MS = 3_600_000
const DAY_MS = 86_400_000
/** As images of registries are kept: what no machine was made from for so long is fetched anew when somebody does. */
const UNUSED_DAYS_MAX = 30
/** A whole file in the store; one that is being taken in has more behind it. */
const WHOLE = /^[0-9a-f]{64}$/
const BEING_TAKEN = /^[0-9a-f]{64}\.[0-9a-f]+$/

/** What begins the names of disks that were made of machines, each of one image. */
export const OWN_PREFIX = 'own-'

/** Where the store keeps beside its files who uses them. */
export function baseFiles(dir: string) {
  return {
    path: (name: string) => join(dir, name),
    /** When a file was last used, by its own time: the file itself may be its operator's. */
    used: (name: string) => join(dir, 'used', name),
    /** Shared by whoever takes files in or uses them; whoever removes some has it alone. */
    lock: join(dir, 'lock'),
    partials: join(dir, 'partial'),
    folders: [dir, join(dir, 'used'), join(dir, 'partial')],
  }
}

/** Makes the folders. */
export async function makeBaseFolders(dir: string): Promise<void> {
  for (const folder of baseFiles(dir).folders) await mkdir(folder, { recursive: true, mode: 0o700 })
}

/** Says that a file is in use today. Whoever does has the store's lock. */
export async function markUsed(dir: string, name: string): Promise<void> {
  const path = baseFiles(dir).used(name)
  await writeFile(path, '')
  await touch(path)
}

/**
 * Removes files of the store that no machine and no image lies over and that were not used for long, and what killed
 * gateways have begun. Does nothing while somebody uses the store.
 * @param usedNames Those that something lies over.
 * @param now In ms.
 */
async function removeUnusedBases(
  dir: string,
  usedNames: () => Promise<ReadonlySet<string>>,
  now: number,
): Promise<void> {
  const files = baseFiles(dir)
  await makeBaseFolders(dir)
  const signal = new AbortController().signal
  const lock = await takeLock(files.lock, { kind: 'exclusive', wait: false, signal })
  if (!lock) return
  const isOld = async (path: string) => {
    const found = await stat(path).catch(() => null)
    return found === null ? null : now - found.mtimeMs > UNUSED_DAYS_MAX * DAY_MS
  }
  try {
    const used = await usedNames()
    for (const name of await readdir(dir)) {
      // Nobody takes anything in now: it was begun by one who was killed.
      const isBegun = BEING_TAKEN.test(name) || (name.startsWith(OWN_PREFIX) && !used.has(name))
      if (isBegun) await rm(files.path(name), { force: true })
      if (!WHOLE.test(name) || used.has(name)) continue
      const isUnused = await isOld(files.used(name))
      // Fetched, and nothing made of it yet.
      if (isUnused === null) await markUsed(dir, name)
      if (!isUnused) continue
      await rm(files.path(name), { force: true })
      await rm(files.used(name), { force: true })
    }
    for (const name of await readdir(files.partials)) {
      const path = join(files.partials, name)
      if (await isOld(path)) await rm(path, { force: true })
    }
  } finally {
    lock.release()
  }
}

/** Does so once at the beginning, then every hour. */
export function tidyBases(deps: {
  dir: string
  usedNames(): Promise<ReadonlySet<string>>
  /** What else is to be tidied then. */
  also(): Promise<void>
  log: Logger
}) {
  const { dir, usedNames, also, log } = deps
  const loop = createLoop({
    name: 'base-tidying',
    pauseMs: TIDY_MS,
    atOnce: true,
    mayEnd: true,
    log,
    run: async () => {
      await removeUnusedBases(dir, usedNames, Date.now())
      await also()
    },
  })
  loop.start()
  return { close: loop.stop }
}
