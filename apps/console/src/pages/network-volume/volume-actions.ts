import type { ChangingCall } from '@berth/contract/call'
import { instanceCan } from '@berth/contract/instance-states'
import { attachVolume, detachVolume } from '@berth/contract/volume-attach-calls'
import { deleteVolume, editVolume, growVolume, type Volume } from '@berth/contract/volumes'

/** What can be done with a volume; `details` changes nothing, and `s3` and `snapshots` open what has calls of its own. */
export const VOLUME_ACTIONS = [
  's3',
  'snapshots',
  'grow',
  'attach',
  'detach',
  'rename',
  'details',
  'delete',
] as const
export type VolumeAction = (typeof VOLUME_ACTIONS)[number]

/** The call behind an action; null where it only looks. */
export const CALLS_BEHIND: Record<VolumeAction, ChangingCall | null> = {
  s3: null,
  snapshots: null,
  grow: growVolume,
  attach: attachVolume,
  detach: detachVolume,
  rename: editVolume,
  details: null,
  delete: deleteVolume,
}

/** Why an action is off for a volume, as a key of the texts; null when it is not. The gateway holds the same rules. */
export function reasonOff(
  action: VolumeAction,
  { status, attached_to, kind }: Pick<Volume, 'status' | 'attached_to' | 'kind'>,
): 'not_ready' | 'not_there' | 'deleting' | 'attached' | 'none_attached' | 'all_run' | 'objects' | null {
  switch (action) {
    case 'grow':
      return status === 'ready' ? null : 'not_ready'
    case 'attach':
      if (kind === 'objects') return 'objects'
      return status === 'ready' || status === 'growing' ? null : 'not_there'
    case 'detach': {
      if (attached_to.length === 0) return 'none_attached'
      return attached_to.some(one => instanceCan('detach_volume', { kind: 'POD', ...one })) ? null : 'all_run'
    }
    case 'delete':
      if (status === 'deleting') return 'deleting'
      return attached_to.length > 0 ? 'attached' : null
    default:
      return null
  }
}
