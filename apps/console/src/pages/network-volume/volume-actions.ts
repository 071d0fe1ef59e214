import type { ChangingCall } from '@berth/contract/call'
import { deleteVolume, editVolume, growVolume, type Volume } from '@berth/contract/volumes'

/** What can be done with a volume; `details` changes nothing. */
export const VOLUME_ACTIONS = ['grow', 'rename', 'details', 'delete'] as const
export type VolumeAction = (typeof VOLUME_ACTIONS)[number]

/** The call behind an action; null where it only looks. */
export const CALLS_BEHIND: Record<VolumeAction, ChangingCall | null> = {
  grow: growVolume,
  rename: editVolume,
  details: null,
  delete: deleteVolume,
}

/** Why an action is off for a volume, as a key of the texts; null when it is not. The gateway holds the same rules. */
export function reasonOff(
  action: VolumeAction,
  { status, attached_to }: Pick<Volume, 'status' | 'attached_to'>,
): 'not_ready' | 'deleting' | 'attached' | null {
  if (action === 'grow') return status === 'ready' ? null : 'not_ready'
  if (action === 'delete') {
    if (status === 'deleting') return 'deleting'
    return attached_to.length > 0 ? 'attached' : null
  }
  return null
}
