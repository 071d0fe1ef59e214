import type { ImageStatus } from './images.ts'

/** What a customer does with an image of their own (R4.8). */
export const IMAGE_ACTIONS = [
  'deploy',
  'publish',
  'cancel_publishing',
  'make_private',
  'edit',
  'new_version',
  'cancel_build',
  'build_again',
  'delete',
] as const
export type ImageAction = (typeof IMAGE_ACTIONS)[number]

const KEPT: readonly ImageStatus[] = ['private', 'review', 'community', 'refused']

const ALLOWED: Readonly<Record<ImageAction, readonly ImageStatus[]>> = {
  deploy: KEPT,
  publish: ['private', 'refused'],
  cancel_publishing: ['review'],
  make_private: ['community', 'review', 'refused'],
  // What is said of it can be put right before it is there, and after it has failed.
  edit: ['building', ...KEPT, 'failed'],
  // Of what the community has.
  new_version: ['review', 'community', 'refused'],
  cancel_build: ['building'],
  build_again: ['failed'],
  delete: ['building', ...KEPT, 'failed'],
}

/**
 * Whether an image in a status allows an action.
 * @param action The action asked for.
 * @param status The image's.
 */
export function imageCan(action: ImageAction, status: ImageStatus): boolean {
  return ALLOWED[action].includes(status)
}
