import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import {
  type Descriptor,
  descriptorSchema,
  LAYOUT_MARK,
  MEDIA_TYPES,
} from '../../../platform/image-layout/layout.ts'

const FOLDER_MODE = 0o700
const FILE_MODE = 0o600

const indexSchema = z.object({ manifests: z.array(descriptorSchema) })

/**
 * Where images lie below one folder, which is an OCI image layout that other tools read as well:
 *
 *   oci-layout, index.json   the images that are kept, each by its manifest; what the index names is all there
 *   blobs/sha256/<digest>    whole, or not there
 *   lock                     held by whoever changes one of the above
 *   aside/<session>/         what a process is writing, in a folder for each `put`
 *   aside/<session>/lock     held by that process for as long as it lives
 *
 * Nothing in here is a name that an archive chose.
 */
export function layoutFiles(dir: string) {
  const indexPath = join(dir, 'index.json')
  const blobs = join(dir, 'blobs/sha256')
  return {
    lock: join(dir, 'lock'),
    aside: join(dir, 'aside'),
    blobs,
    blob: (digest: string) => join(blobs, hexOf(digest)),

    async makeFolders(): Promise<void> {
      for (const folder of [blobs, join(dir, 'aside')])
        await mkdir(folder, { recursive: true, mode: FOLDER_MODE })
      if ((await sizeOf(join(dir, 'oci-layout'))) !== LAYOUT_MARK.length)
        await replaceFile(join(dir, 'oci-layout'), LAYOUT_MARK)
    },

    /** The images that are kept; none where there is no store yet. Throws where the index cannot be read. */
    async readIndex(): Promise<Descriptor[]> {
      const text = await readFile(indexPath, 'utf8').catch(unlessMissing)
      return text === null ? [] : indexSchema.parse(JSON.parse(text)).manifests
    },

    /** Has the images be these, on the disk. */
    async writeIndex(manifests: Descriptor[]): Promise<void> {
      const index = { schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests }
      await replaceFile(indexPath, Buffer.from(JSON.stringify(index)))
      await syncFolder(dir)
    },
  }
}

/** The digest of a blob without what it was made by. */
export function hexOf(digest: string): string {
  return digest.slice('sha256:'.length)
}

/** The size of a file in bytes; null where there is none. */
export async function sizeOf(path: string): Promise<number | null> {
  return (await stat(path).catch(unlessMissing))?.size ?? null
}

/** Makes a file that is not there yet. */
export function createFile(path: string) {
  return open(path, 'wx', FILE_MODE)
}

/** Has a folder's names be on the disk. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  await folder.sync().finally(() => folder.close())
}

/** Writes a file under another name first, so that one of the right name is always whole. */
async function replaceFile(path: string, content: Buffer): Promise<void> {
  const next = `${path}.${randomBytes(4).toString('hex')}`
  const file = await createFile(next)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(next, path)
}

export function unlessMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}
