import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import type { ImageStore } from '../oci/image-store.ts'
import type { ImageTree, ImageTrees } from '../oci/image-trees.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { MachineSpec } from '../port/machines.ts'
import { shellQuote } from './enter-script.ts'
import { type HomeImages, homeMounting } from './home-images.ts'
import type { MachineImage, MachinePaths, MachineRecord } from './machine-store.ts'
import { giveTo, overFilesOf, usersFrom } from './machine-users.ts'
import { makeUpper, type RootOverlay } from './overlay-root.ts'
import { etcFiles } from './root-view.ts'

const ERROR_CHARS_MAX = 500

/** Rights of neither root nor anybody else, but those of the user whose id comes first. */
const AS_USER = `
as() { user=$1; shift
  exec setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all -- "$@"; }
`

/** The same of two ranges of users, over whose files each has rights. */
const asRootsOf = (...uids: number[]) => {
  const ways = uids.map(uid => `${uid}) exec ${overFilesOf(uid).map(shellQuote).join(' ')} "$@" ;;`)
  return `as() { user=$1; shift; case "$user" in ${ways.join(' ')} esac; }`
}

/** Puts words in pairs, a path below the current folder and its text, into files that are there. */
const FILL = 'while [ $# -gt 1 ]; do printf %s "$2" > "./$1" || exit 1; shift 2; done'

/**
 * Copies a tree (`$1`) of one user (`$3`) as one of another (`$4`) into a home (`$2`): one reads, the other writes, and
 * neither can do more. It ends badly where either does.
 */
const copyAsOthers = (from: number, to: number) => `${usersFrom(to) > 1 ? asRootsOf(from, to) : AS_USER}
tree=$1 home=$2 from=$3 to=$4; shift 4
{ (cd "$tree" && as "$from" tar -cf - .) || kill -9 $$; } | (cd "$home" && as "$to" tar -xpf - --same-owner) || exit 1
(cd "$home" && as "$to" /bin/sh -c '${FILL}' berth "$@")
`

/** The same where all is one user's; blocks are shared where the file system can. */
const COPY_AS_SELF = `
tree=$1 home=$2; shift 2
cp -a --reflink=auto -- "$tree/." "$home" && cd "$home" || exit 1
${FILL}
`

export interface ImageRootsDeps {
  images: ImageStore
  trees: ImageTrees
  /** What makes homes of a size of their own; null where they are plain folders. */
  homes: HomeImages | null
  /** What lays homes over trees; null where each machine gets a copy. */
  overlay: RootOverlay | null
}

/** Gives machines that are made from images their roots. */
export function createImageRoots({ images, trees, homes, overlay }: ImageRootsDeps) {
  return {
    /**
     * Makes the root of a machine that was not made yet, in its empty home: laid over the image's tree, or a copy of it.
     * @param where.write Writes the machine down, while its image stays.
     * @throws ComputeError `image_unfit` where the image does not fit, `no_room` where the disk has no room for it,
     * `failed` where it was not fetched.
     */
    async make(
      spec: MachineSpec,
      where: {
        reference: string
        paths: MachinePaths
        uid: number | null
        write(image: MachineImage): Promise<void>
      },
      signal: AbortSignal,
    ): Promise<MachineImage> {
      const { reference, paths, uid, write } = where
      const fetched = await images.find({ reference, owner: spec.image.owner })
      if (!fetched) throw new ComputeError('failed', `${reference} was not fetched yet`)
      const { entrypoint, command, env, working_dir } = fetched.record
      return trees.use(fetched, signal, async tree => {
        const over = overlay ? { tree: tree.key } : {}
        const image = { entrypoint, command, env, working_dir, user: tree.user, ...over }
        if (overlay) await makeUpper({ home: paths.home, uid }, spec.hostname)
        await homes?.make(paths, uid, spec.disk_gb)
        if (!overlay) await copyTree(tree, { spec, paths, uid, signal })
        await write(image)
        return image
      })
    },

    /**
     * What goes before a launcher's own arguments so that a machine's home is its root; nothing where it is by itself.
     * @throws ComputeError `unsupported` where homes were laid over trees once and cannot be any more, `failed` where the
     * tree is gone.
     */
    async words({ image, uid }: MachineRecord, { home }: MachinePaths): Promise<string[]> {
      if (image?.tree === undefined) return []
      const tree = await trees.rootOf(image.tree)
      if (tree === null) throw new ComputeError('failed', 'the image that the machine lies over is gone')
      if (!overlay) {
        throw new ComputeError(
          'unsupported',
          'the machine lies over its image, which this computer cannot do',
        )
      }
      return overlay.words(tree, { home, uid })
    },
  }
}

export type ImageRoots = ReturnType<typeof createImageRoots>

async function copyTree(
  tree: ImageTree,
  machine: { spec: MachineSpec; paths: MachinePaths; uid: number | null; signal: AbortSignal },
): Promise<void> {
  const { spec, paths, uid, signal } = machine
  await giveTo(uid, [paths.home])
  const files = Object.entries(etcFiles(spec.hostname)).flat()
  const users = uid === null ? null : ([(await stat(tree.root)).uid, uid] as const)
  const script = users === null ? COPY_AS_SELF : copyAsOthers(...users)
  const words = [tree.root, paths.home, ...(users ?? []).map(String), ...files]
  const copy = ['/bin/sh', '-c', script, 'berth', ...words]
  const [file = '', ...args] = [...(await homeMounting(paths)), ...copy]
  const child = spawn(file, args, {
    env: { PATH: '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C' },
    stdio: ['ignore', 'ignore', 'pipe'],
    signal,
    killSignal: 'SIGKILL',
  })
  let said = ''
  child.stderr.on('data', chunk => {
    said = `${said}${chunk}`.slice(-ERROR_CHARS_MAX)
  })
  const [code] = await once(child, 'close')
  if (code === 0) return
  if (/No space left|quota exceeded/.test(said)) {
    throw new ComputeError('image_unfit', 'the image does not fit on the machine’s disk')
  }
  throw new ComputeError('failed', `the image was not copied: ${said.trim()}`)
}
