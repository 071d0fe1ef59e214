import { randomBytes } from 'node:crypto'
import { lstat, mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import type { MachineSpec } from '../port/machines.ts'
import { type Eraser, goingOf } from './eraser.ts'
import { giveTo } from './machine-users.ts'

/**
 * What the driver writes down of each machine, one folder a machine:
 *
 *   machine.json   what was asked for; its presence is what makes the machine exist
 *   state.json     which processes run it, or that it was stopped; absent until the first start
 *   home/          the machine's /root, the only thing in it that lasts; or its root, where that came from an image, or
 *                  what it changed of that
 *   home.img       the same as a file system in a file, where that can be; `home` is then where it is mounted
 *   users          the first of the user ids that are the machine's, where it has a range of them
 *   removing       there from when a removal began
 *   home.going/    what is then left of the home
 *   etc/           the machine's /etc, made anew at each start
 *   run/           the agent's socket, the logs, what the launcher reported
 *   root/          an empty folder to mount the root view on (the `unshare` launcher only)
 */
export interface MachinePaths {
  dir: string
  home: string
  etc: string
  run: string
  root: string
}

/** What a machine goes by of the image that it was made from. */
export interface MachineImage {
  entrypoint: string[]
  command: string[]
  env: Record<string, string>
  working_dir: string
  user: { uid: number; gid: number; name: string; home: string }
  /** The image's tree that its root lies over (`overlay-root.ts`); left out where its home is all of its root. */
  tree?: string
}

export interface MachineRecord {
  spec: MachineSpec
  /** The host's user id that the machine runs as, or the first of its range; null for the gateway's own. */
  uid: number | null
  /** It boots a system of its own, which may be in trouble. */
  has_guest?: true
  /** Where it has a root of its own; left out of a machine that runs on its computer's own programs. */
  image?: MachineImage
}

/** What a machine runs when it begins; null where it only idles. */
export function commandOf({ spec, image }: MachineRecord): string[] | null {
  if (!image) return spec.command
  const argv = [...image.entrypoint, ...(spec.command ?? image.command)]
  return argv.length > 0 ? argv : null
}

/** Names a process for good: ids are used again, but not with the same start in the same boot. */
export interface ProcessIdentity {
  pid: number
  start_ticks: number
  boot_id: string
}

export type MachineState =
  /** `waits` until its command was let run; a machine of the version before never waited. */
  | { phase: 'running'; first_process: ProcessIdentity; started_at: string; waits?: boolean }
  | { phase: 'stopped'; cause?: 'disk_full' | 'command_ended'; exit_code?: number }

export interface MachineStore {
  paths(id: string): MachinePaths
  readRecord(id: string): Promise<MachineRecord | null>
  writeRecord(id: string, record: MachineRecord): Promise<void>
  readState(id: string): Promise<MachineState | null>
  writeState(id: string, state: MachineState): Promise<void>
  /** Ids of every folder, also of those whose making or removal was interrupted. */
  ids(): Promise<string[]>
  /** What there is of a machine: its folder, and whether a removal of it has begun. */
  traceOf(id: string): Promise<'none' | 'folder' | 'half_removed'>
  /** Removes all that there is of a machine. Returns when it is gone; see `Eraser.erase` for how it fails. */
  remove(id: string): Promise<void>
}

/** The mark of a removal that has begun. */
const REMOVING = 'removing'

/** Where a machine's files are under `dataDir`. */
export function machinePaths(dataDir: string, id: string): MachinePaths {
  const dir = join(dataDir, 'machines', id)
  return {
    dir,
    home: join(dir, 'home'),
    etc: join(dir, 'etc'),
    run: join(dir, 'run'),
    root: join(dir, 'root'),
  }
}

/** Keeps machines under `<dataDir>/machines`. */
export function createMachineStore(dataDir: string, eraser: Eraser): MachineStore {
  const paths = (id: string) => machinePaths(dataDir, id)
  return {
    paths,
    readRecord: id => readJson<MachineRecord>(join(paths(id).dir, 'machine.json')),
    writeRecord: (id, record) => replaceJson(join(paths(id).dir, 'machine.json'), record),
    readState: id => readJson<MachineState>(join(paths(id).dir, 'state.json')),
    writeState: (id, state) => replaceJson(join(paths(id).dir, 'state.json'), state),
    ids: async () => {
      const entries = await readdir(join(dataDir, 'machines'), { withFileTypes: true }).catch(() => [])
      return entries.flatMap(entry =>
        entry.isDirectory() && MACHINE_ID_PATTERN.test(entry.name) ? [entry.name] : [],
      )
    },
    traceOf: async id => {
      const { dir } = paths(id)
      if (!(await ownerOf(dir))) return 'none'
      return (await ownerOf(join(dir, REMOVING))) ? 'half_removed' : 'folder'
    },
    remove: async id => {
      const { dir, home } = paths(id)
      if (!(await ownerOf(dir))) return
      // First of all, so that it is not taken for gone before it is.
      await writeFile(join(dir, REMOVING), '')
      await rm(join(dir, 'machine.json'), { force: true })
      const owner = (await ownerOf(home)) ?? (await ownerOf(goingOf(home)))
      if (owner) await eraser.erase(home, owner.uid === process.getuid?.() ? null : owner.uid)
      // All else that lies there is the gateway's own.
      const others = (await readdir(dir).catch(ignoreMissing)).filter(
        name => name !== 'home' && name !== REMOVING,
      )
      for (const name of [...others, REMOVING]) await rm(join(dir, name), { recursive: true, force: true })
      await rmdir(dir).catch(ignoreMissing)
    },
  }
}

/** Whose a folder is; null where there is none. */
export async function ownerOf(folder: string): Promise<{ uid: number } | null> {
  const [found] = [await lstat(folder).catch(ignoreMissing)].flat()
  return found ?? null
}

async function readJson<T>(path: string): Promise<T | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as T
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    // A half-written file cannot come from `replaceJson`; one that a person spoiled counts as not there.
    if (error instanceof SyntaxError) return null
    throw error
  }
}

async function replaceJson(path: string, value: unknown): Promise<void> {
  const next = `${path}.${randomBytes(4).toString('hex')}`
  await writeFile(next, JSON.stringify(value), { mode: 0o600 })
  await rename(next, path)
}

function ignoreMissing(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT') return []
  throw error
}

/**
 * Makes the folders of a machine, closed to other users of the computer.
 * @param uid Who owns its home; null for the gateway's own user, until it is given away.
 */
export async function makeMachineFolders(paths: MachinePaths, uid: number | null): Promise<void> {
  await mkdir(paths.dir, { recursive: true, mode: 0o700 })
  for (const dir of [paths.home, paths.etc, paths.run, paths.root]) {
    await mkdir(dir, { recursive: true, mode: dir === paths.etc ? 0o755 : 0o700 })
  }
  await giveTo(uid, [paths.home])
}
