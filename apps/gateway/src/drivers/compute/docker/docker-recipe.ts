import { z } from 'zod'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { ImageRecipe } from '../port/images.ts'

const REFERENCE_LENGTH_MAX = 512

/** Docker's part of a recipe in the catalogue: a reference such as `pytorch/pytorch:2.9`. */
export const dockerPartSchema = z
  .string()
  .max(REFERENCE_LENGTH_MAX)
  .regex(/^[a-z0-9][A-Za-z0-9._:/@-]*$/, 'must be a reference such as debian:12')

/** Of an image that was made from a machine: it is never looked for at a registry. */
const ownPartSchema = z.strictObject({ own: z.string().regex(MACHINE_ID_PATTERN) })

/** How Docker knows an image. */
export interface DockerImage {
  reference: string
  /** Made on this engine from a machine. */
  is_own: boolean
  /** A customer's: that it is here says nothing of whether this one may have it. */
  is_asked_for: boolean
}

/** The name and tag of a cloud's own image. No reference of the catalogue leads to it by chance. */
export function ownReference(cloudId: string, imageId: string): { repo: string; tag: string } {
  return { repo: `berth-${cloudId}.images`, tag: imageId }
}

/** How Docker knows an image; null when it cannot be made on Docker. */
export function findDockerImage(image: ImageRecipe, cloudId: string): DockerImage | null {
  const part = image.parts.docker
  const reference = dockerPartSchema.safeParse(part)
  const is_asked_for = image.owner !== undefined
  if (reference.success) return { reference: reference.data, is_own: false, is_asked_for }
  const own = ownPartSchema.safeParse(part)
  if (!own.success) return null
  const { repo, tag } = ownReference(cloudId, own.data.own)
  return { reference: `${repo}:${tag}`, is_own: true, is_asked_for: false }
}

/** The same. Fails with `image_unavailable` when it cannot. */
export function dockerImage(image: ImageRecipe, cloudId: string): DockerImage {
  const found = findDockerImage(image, cloudId)
  if (!found) throw new ComputeError('image_unavailable', `${image.id} cannot run on Docker`)
  return found
}
