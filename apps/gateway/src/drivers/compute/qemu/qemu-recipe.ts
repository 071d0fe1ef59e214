import { isAbsolute } from 'node:path'
import { z } from 'zod'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import type { ImageRecipe } from '../port/images.ts'

const PATH_LENGTH_MAX = 4_096
const URL_LENGTH_MAX = 2_048
const CMDLINE_LENGTH_MAX = 1_024

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits')

const fileSource = z.strictObject({
  /** A file of this computer. */
  file: z.string().min(1).max(PATH_LENGTH_MAX).refine(isAbsolute, 'must be an absolute path'),
  sha256: sha256.optional(),
})

const urlSource = z.strictObject({
  /** By TLS, on this computer also without. */
  url: z.url({ protocol: /^https?$/ }).max(URL_LENGTH_MAX),
  sha256,
})

const source = z.union([fileSource, urlSource])
export type ImageSource = z.infer<typeof source>

const boot = {
  kernel: source.optional(),
  initrd: source.optional(),
  cmdline: z
    .string()
    .max(CMDLINE_LENGTH_MAX)
    .regex(/^[ -~]*$/, 'must be printable ASCII')
    .optional(),
}
/**
 * The part of a recipe in the catalogue that virtual machines are made from: a disk as qcow2 or as it is, and where that
 * holds no boot loader a kernel, with what it begins with and is told.
 */
export const qemuPartSchema = z.union([fileSource.extend(boot), urlSource.extend(boot)])

/** What an image goes by that was made of a machine here: the driver writes that, nobody else. */
const ownPartSchema = z.strictObject({ own: z.string().regex(MACHINE_ID_PATTERN) })

/** Which image of this engine's own a recipe names; null for one of the catalogue. */
export function ownIdOf(image: ImageRecipe): string | null {
  return ownPartSchema.safeParse(image.parts.qemu).data?.own ?? null
}

/** The files that an image is made of. */
export interface ImageSources {
  disk: ImageSource
  kernel: ImageSource | null
  initrd: ImageSource | null
  cmdline: string | null
}

/** What the catalogue says of an image for this driver; null where that is nothing. */
export function sourcesOf(image: ImageRecipe): ImageSources | null {
  const part = qemuPartSchema.safeParse(image.parts.qemu).data
  if (!part) return null
  const { kernel = null, initrd = null, cmdline = null, ...disk } = part
  return { disk, kernel, initrd, cmdline }
}

/** Why no virtual machine can be made from an image, in a sentence; null where one can. */
export function qemuLackFor(image: ImageRecipe): string | null {
  if (sourcesOf(image) !== null || ownIdOf(image) !== null) return null
  return `${image.id} cannot run in a virtual machine: the catalogue names no disk that one could start from.`
}
