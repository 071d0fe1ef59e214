import { z } from 'zod'
import { dockerPartSchema } from '../docker/docker-recipe.ts'
import { MACHINE_ID_PATTERN } from '../machine-id.ts'
import { ComputeError } from '../port/compute-error.ts'
import type { ImageRecipe } from '../port/images.ts'

const WORDS_MAX = 64
const WORD_LENGTH_MAX = 4_096
const PATH_LENGTH_MAX = 256

const words = z.array(z.string().max(WORD_LENGTH_MAX)).max(WORDS_MAX)

/**
 * Kubernetes' part of a recipe in the catalogue: a reference, or one with what the image says of itself. An image that nodes
 * have of their own, which no registry tells of, is named with `pull: never` and its words.
 */
export const kubernetesPartSchema = z.union([
  dockerPartSchema,
  z
    .strictObject({
      image: dockerPartSchema,
      pull: z.enum(['if_missing', 'never']).default('if_missing'),
      /** What it runs where a machine has no command of its own; left out: as the registry tells. */
      entrypoint: words.optional(),
      command: words.optional(),
      /** Where its user is at home, which is what a machine keeps; left out: as the image says, else `/root`. */
      home: z
        .string()
        .max(PATH_LENGTH_MAX)
        .regex(/^(\/[A-Za-z0-9_][A-Za-z0-9._-]*)+$/, 'must be an absolute path')
        .optional(),
    })
    .refine(({ pull, command, entrypoint }) => pull !== 'never' || (command ?? entrypoint) !== undefined, {
      message: 'with pull: never nobody tells what it runs: say `command`, which may be []',
    }),
])

/** An image of this cloud's own, which is made of a machine or brought here and never stands in a catalogue. */
const ownPartSchema = z.strictObject({ own: z.string().regex(MACHINE_ID_PATTERN) })

/** The id of an image of this cloud's own; null for one that a registry of somebody's has. */
export function ownIdOf({ parts }: ImageRecipe): string | null {
  return ownPartSchema.safeParse(parts.kubernetes).data?.own ?? null
}

/** How Kubernetes knows an image of a registry, or one that nodes have. */
export interface KubeImage {
  reference: string
  is_pulled: boolean
  /** What the operator said of it; null: its registry is asked. */
  told: { entrypoint: string[]; command: string[] } | null
  home: string | null
  /** The customer whose it is; null for the operator's. */
  owner: string | null
}

/** How Kubernetes knows an image; null when it cannot be made there. */
export function findKubeImage({ parts, owner: ownedBy }: ImageRecipe): KubeImage | null {
  const owner = ownedBy ?? null
  const { data } = kubernetesPartSchema.safeParse(parts.kubernetes)
  if (data === undefined) return null
  if (typeof data === 'string') {
    return { reference: data, is_pulled: true, told: null, home: null, owner }
  }
  const { image, pull, entrypoint, command } = data
  const home = data.home ?? null
  const told = entrypoint || command ? { entrypoint: entrypoint ?? [], command: command ?? [] } : null
  return { reference: image, is_pulled: pull !== 'never', told, home, owner }
}

/** The same. Fails with `image_unavailable` when it cannot. */
export function kubeImage(image: ImageRecipe): KubeImage {
  const found = findKubeImage(image)
  if (!found) throw new ComputeError('image_unavailable', `${image.id} cannot run on Kubernetes`)
  return found
}
