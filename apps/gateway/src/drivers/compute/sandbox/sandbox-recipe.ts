import { z } from 'zod'
import type { ImageRecipe } from '../port/images.ts'

/** The sandbox's part of a recipe in the catalogue: `host` is this computer's own userland, read-only. */
export const sandboxPartSchema = z.literal('host')

/** Why the sandbox cannot make an image; null when it can. */
export function sandboxLackFor(image: ImageRecipe): string | null {
  if (sandboxPartSchema.safeParse(image.parts.sandbox).success) return null
  return `${image.id} cannot run in a sandbox, which has nothing but this computer’s own programs.`
}
