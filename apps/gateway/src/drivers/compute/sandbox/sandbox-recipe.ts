import { z } from 'zod'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { parseReference } from '../port/image-reference.ts'
import type { ImageRecipe } from '../port/images.ts'

const registryPart = z.strictObject({
  image: z
    .string()
    .refine(
      text => parseReference(text) !== null,
      'must be a reference such as debian:12 or ghcr.io/a/b@sha256:…',
    ),
})

/**
 * The sandbox's part of a recipe in the catalogue: `host` is this computer's own userland, read-only; `image` is one of
 * a registry.
 */
export const sandboxPartSchema = z.union([z.literal('host'), registryPart])

/** Of an image that was made of a machine here, or brought here: it is never looked for at a registry. */
const ownPart = z.strictObject({ own: z.string().regex(MACHINE_ID_PATTERN) })

/** What no reference of a registry begins with. */
const OWN = '.own/'

/** By which an image of this engine's own is kept. */
export function ownReference(imageId: string): string {
  return `${OWN}${imageId}`
}

/** Whether that is what it is. */
export function isOwnReference(reference: string): boolean {
  return reference.startsWith(OWN)
}

/**
 * By which the image is kept that a machine's root is laid from, of a registry or this engine's own; null where the
 * computer's own programs are meant.
 */
export function referenceOf(image: ImageRecipe): string | null {
  const own = ownPart.safeParse(image.parts.sandbox).data?.own
  return own === undefined
    ? (registryPart.safeParse(image.parts.sandbox).data?.image ?? null)
    : ownReference(own)
}

/**
 * Why the sandbox cannot make an image; null when it can.
 * @param tools What images of registries need here, or why there are none.
 */
export function sandboxLackFor(image: ImageRecipe, tools: object | { lacks: string }): string | null {
  const { sandbox } = image.parts
  if (!sandboxPartSchema.safeParse(sandbox).success && !ownPart.safeParse(sandbox).success) {
    return `${image.id} cannot run in a sandbox: the catalogue names nothing that it could be made from there.`
  }
  return referenceOf(image) !== null && 'lacks' in tools ? String(tools.lacks) : null
}
