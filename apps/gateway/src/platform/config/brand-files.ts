import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { extname, resolve } from 'node:path'
import { readTerms } from './brand-terms.ts'
import type { Brand, BrandImage } from './brands.ts'

/** Where the gateway answers with a brand's files. */
export const BRAND_PATH = '/brand/'

const TYPES: Readonly<Record<string, string>> = {
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
}
/** A mark of 24 pixels; what is larger than this was meant for something else. */
const FILE_BYTES_MAX = 200_000

/**
 * Reads the images and the terms that stand as files beside the catalogue.
 * @param list The catalogue's brands.
 * @param folder Where the catalogue lies.
 * @returns The brands with each file read, under an address that changes with its content.
 * @throws Error that names the file.
 */
export function readBrandFiles(list: readonly Brand[], folder: string): Brand[] {
  return list.map(one => ({
    ...one,
    logo: one.logo && { light: read(one.logo.light, folder), dark: read(one.logo.dark, folder) },
    terms: readTerms(one.terms, one.name, folder),
  }))
}

function read(image: BrandImage, folder: string): BrandImage {
  if (/^https?:/.test(image.url)) return image
  const extension = extname(image.url).toLowerCase()
  let bytes: Uint8Array
  try {
    bytes = readFileSync(resolve(folder, image.url))
  } catch (cause) {
    throw new Error(
      `brands: ${image.url} cannot be read (${(cause as NodeJS.ErrnoException).code ?? 'unknown'})`,
    )
  }
  if (bytes.length > FILE_BYTES_MAX) {
    throw new Error(`brands: ${image.url} has ${bytes.length} bytes; a logo takes ${FILE_BYTES_MAX} at most`)
  }
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16)
  const type = TYPES[extension] ?? 'application/octet-stream'
  return { url: `${BRAND_PATH}${hash}${extension}`, file: { type, bytes } }
}
