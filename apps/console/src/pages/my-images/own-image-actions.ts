import type { Call } from '@berth/contract/call'
import { type ImageAction, imageCan } from '@berth/contract/image-actions'
import { type CustomImage, customImages, type ImageStatus } from '@berth/contract/images'
import { deployInstance } from '@berth/contract/instances'
import {
  cancelImageBuild,
  cancelPublishing,
  createImage,
  deleteImage,
  editImage,
  makeImagePrivate,
  publishImage,
} from '@berth/contract/own-images'

/** What a row offers, in the order of its menu: the actions of the contract's table, and what can always be read. */
export const OWN_ACTIONS = [
  'view',
  'progress',
  'deploy',
  'publish',
  'cancel_publishing',
  'make_private',
  'edit',
  'new_version',
  'build_again',
  'cancel_build',
  'delete',
] as const
export type OwnAction = (typeof OWN_ACTIONS)[number]

/** The call behind an action; its audience says who may take it (R4.2). */
export const CALLS_BEHIND: Record<OwnAction, Call> = {
  view: customImages,
  progress: customImages,
  deploy: deployInstance,
  publish: publishImage,
  cancel_publishing: cancelPublishing,
  make_private: makeImagePrivate,
  edit: editImage,
  new_version: createImage,
  build_again: createImage,
  cancel_build: cancelImageBuild,
  delete: deleteImage,
}

/** Actions that mean nothing in any other status: they are not offered there. */
const ONLY_IN: Partial<Record<OwnAction, (image: OwnSubject) => boolean>> = {
  progress: ({ status }) => status === 'building',
  cancel_build: ({ status }) => status === 'building',
  new_version: ({ community_image_id }) => community_image_id !== null,
  build_again: ({ status }) => status === 'failed',
  cancel_publishing: ({ status }) => status === 'review',
  // Taking back what is in review comes first; this takes off what the community has besides.
  make_private: ({ status, community_image_id }) => status === 'community' || community_image_id !== null,
}

/** What of an image decides over its actions. */
export type OwnSubject = Pick<CustomImage, 'status' | 'community_image_id'>

/** Whether an action is of any use to an image. */
export function isOffered(action: OwnAction, image: OwnSubject): boolean {
  return ONLY_IN[action]?.(image) ?? true
}

/**
 * Why an action is off (R4.8).
 * @returns The status that is in its way, whose text says why; null: nothing is.
 */
export function obstacleOf(action: OwnAction, { status }: OwnSubject): ImageStatus | null {
  if (action === 'view' || action === 'progress') return status === 'deleting' ? status : null
  return imageCan(action satisfies ImageAction, status) ? null : status
}

/** What one most likely wants of an image in its status: the row's button. */
export const PRIMARY: Record<ImageStatus, OwnAction> = {
  building: 'progress',
  private: 'publish',
  review: 'cancel_publishing',
  community: 'view',
  refused: 'edit',
  failed: 'build_again',
  deleting: 'view',
}
