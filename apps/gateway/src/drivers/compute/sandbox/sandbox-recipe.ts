import { z } from 'zod'
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

/** The image of a registry that a machine's root is laid from; null where the computer's own programs are meant. */
export function registryReference(image: ImageRecipe): string | null {
  return registryPart.safeParse(image.parts.sandbox).data?.image ?? null
}

/**
 * Why the sandbox cannot make an image; null when it can.
 * @param tools What images of registries need here, or why there are none.
 */
export function sandboxLackFor(image: ImageRecipe, tools: object | { lacks: string }): string | null {
  if (!sandboxPartSchema.safeParse(image.parts.sandbox).success) {
    return `${image.id} cannot run in a sandbox: the catalogue names nothing that it could be made from there.`
  }
  return registryReference(image) !== null && 'lacks' in tools ? String(tools.lacks) : null
}
