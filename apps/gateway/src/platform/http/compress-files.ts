import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const TEXT_FILES = new Set(['.js', '.css', '.json', '.svg'])
/** Below this, headers weigh more than what is saved. */
const BYTES_MIN = 1_024
/** Once for each build: worth more effort than an answer is. One step more takes three times as long, for a hundredth. */
const BROTLI_QUALITY = 10

const FORMS = {
  '.br': (data: Buffer) =>
    promisify(brotliCompress)(data, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
  '.gz': (data: Buffer) => promisify(gzip)(data),
}

/**
 * Writes compressed forms of a folder's text files beside them, where they are missing or older. A folder that cannot
 * be written to is served as it is.
 * @returns How many files were written.
 */
export async function compressFiles(folder: string): Promise<number> {
  let written = 0
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !TEXT_FILES.has(extname(entry.name))) continue
    const file = join(entry.parentPath, entry.name)
    for (const [suffix, compress] of Object.entries(FORMS)) {
      if (await writeForm(file, file + suffix, compress)) written++
    }
  }
  return written
}

async function writeForm(
  file: string,
  target: string,
  compress: (data: Buffer) => Promise<Buffer>,
): Promise<boolean> {
  const { mtimeMs, size } = await stat(file)
  const made = await stat(target).catch(() => null)
  if (size < BYTES_MIN || (made && made.mtimeMs >= mtimeMs)) return false
  const draft = `${target}.${process.pid}`
  try {
    // Renamed into place, so that nobody is sent half a file.
    await writeFile(draft, await compress(await readFile(file)))
    await rename(draft, target)
    return true
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}
