import * as z from 'zod'
import { defineCall } from './call.ts'
import { by } from './fields.ts'
import { instanceChange, instanceId } from './instances.ts'
import { volumeId, volumePath } from './volumes.ts'

/** Reads that are old when an instance has a volume, or has none any more. */
const WHO_HAS_WHAT = [
  'netvolume.list',
  'instance.list',
  'instance.page',
  'instance.get',
  'instance.events',
  'instance.setup',
] as const

export const attachVolumeBody = z.object({ instance_id: instanceId, path: volumePath }, by('required'))
z.globalRegistry.add(attachVolumeBody, { id: 'AttachVolumeBody' })

export const attachVolume = defineCall({
  operation: 'netvolume.attach',
  method: 'POST',
  path: '/api/netvolume/{id}/attach',
  summary:
    'Attaches a network volume to an instance that does not run, which has it from its next start on. Attached already: it moves to the path.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: WHO_HAS_WHAT,
  params: z.object({ id: volumeId }),
  body: attachVolumeBody,
  data: instanceChange,
})

export const detachVolumeBody = z.object({ instance_id: instanceId }, by('required'))
z.globalRegistry.add(detachVolumeBody, { id: 'DetachVolumeBody' })

export const detachVolume = defineCall({
  operation: 'netvolume.detach',
  method: 'POST',
  path: '/api/netvolume/{id}/detach',
  summary:
    'Takes a network volume from an instance that does not run. What the volume holds stays. Not attached: nothing happens.',
  audience: 'verified',
  timeout: 'normal',
  audit: { target: ['params.id'] },
  stales: WHO_HAS_WHAT,
  params: z.object({ id: volumeId }),
  body: detachVolumeBody,
  data: instanceChange,
})

export const volumeAttachCalls = [attachVolume, detachVolume] as const
