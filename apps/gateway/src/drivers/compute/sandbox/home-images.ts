import { execFile } from 'node:child_process'
import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { MachinePaths } from './machine-store.ts'

const run = promisify(execFile)

/** Making a file system of any size writes a few MB; a disk that is busy takes its time over that. */
const MAKE_TIMEOUT_MS = 30_000
/** Enough for a home; by itself it would grow with the disk, and be written to it in full over time. */
const JOURNAL_MB = 16
const TRIAL_MB = 96
/** Where distributions keep what only root needs. */
const PATH = '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin'

/**
 * Mounts the image (`$1`) on the home (`$2`) where only the machine sees it, then becomes the launcher. It ends with
 * the machine's last process, in good order or not. What the machine deletes is given back to the computer's disk.
 */
const MOUNT_SCRIPT = `
mount -t ext4 -o loop,nosuid,nodev,discard,noinit_itable,errors=remount-ro -- "$1" "$2" || exit 1
rmdir -- "$2/lost+found" 2>/dev/null
shift 2
exec "$@"
`

/**
 * Homes as file systems of their own, each in a file that takes as much as is stored in it: a machine then has so
 * many bytes and so many files and no more, whatever the file system below can limit.
 */
export function createHomeImages() {
  return {
    /**
     * Puts a new machine's home, with what lies in it, into an image of that size.
     * @param uid Whose it is; null for the gateway's own user.
     */
    async make(paths: MachinePaths, uid: number | null, sizeGb: number): Promise<void> {
      const image = imageOf(paths)
      await makeImage(`${image}.new`, { from: paths.home, uid: uid ?? 0, size: `${sizeGb}G` })
      await rename(`${image}.new`, image)
      await rm(paths.home, { recursive: true })
      await mkdir(paths.home, { mode: 0o700 })
    },
  }
}

export type HomeImages = ReturnType<typeof createHomeImages>

/** What goes before a launcher's own arguments, so that the machine's home is in its image; nothing where it has none. */
export async function homeMounting(paths: MachinePaths): Promise<string[]> {
  const image = imageOf(paths)
  const there = await access(image).then(
    () => true,
    () => false,
  )
  return there ? mounting(image, paths.home) : []
}

/** Whether homes can be images here, found out by making one. */
export async function findHomeImages(): Promise<{ images: HomeImages } | { images: null; why: string }> {
  if (process.getuid?.() !== 0) return { images: null, why: 'only root may mount a home of its own size' }
  const folder = await mkdtemp(join(tmpdir(), 'berth-home-'))
  try {
    const home = join(folder, 'home')
    const image = join(folder, 'home.img')
    await mkdir(home)
    await makeImage(image, { from: home, uid: 0, size: `${TRIAL_MB}M` })
    const [file = '', ...args] = [...mounting(image, home), 'true']
    await run(file, args, { env: { PATH }, timeout: MAKE_TIMEOUT_MS })
    return { images: createHomeImages() }
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string }
    const [said = ''] = (stderr?.trim() || message).split('\n')
    return { images: null, why: `homes cannot be images here (${said.slice(0, 200)})` }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function imageOf(paths: MachinePaths): string {
  return `${paths.home}.img`
}

function mounting(image: string, home: string): string[] {
  const own = ['unshare', '--mount', '--propagation', 'private', '--']
  return [...own, '/bin/sh', '-c', MOUNT_SCRIPT, 'berth', image, home]
}

async function makeImage(image: string, what: { from: string; uid: number; size: string }): Promise<void> {
  const { from, uid, size } = what
  await rm(image, { force: true })
  // The file is made anew and holds zeros, so that nothing need be written where there is nothing yet.
  const lazy = `lazy_itable_init=1,lazy_journal_init=1,nodiscard,root_owner=${uid}:${uid}`
  const args = ['-q', '-F', '-m', '0', '-J', `size=${JOURNAL_MB}`, '-E', lazy, '-d', from, image, size]
  await run('mkfs.ext4', args, { env: { PATH }, timeout: MAKE_TIMEOUT_MS })
}
