import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, timestamp } from './fields.ts'
import { volumeId } from './volumes.ts'

/** What a key may do with the volume that it reaches; it reaches nothing else. */
export const S3_KEY_ACCESS = ['read_write', 'read_only'] as const
export type S3KeyAccess = (typeof S3_KEY_ACCESS)[number]

/**
 * Whether a volume is reached by S3: it is; this installation has no S3 server, or it does not listen; the volume is not
 * ready; what keeps it cannot show it as files; another gateway keeps it, or nobody reaches it.
 */
export const S3_STATES = ['served', 'off', 'not_ready', 'not_files', 'elsewhere'] as const
export type S3State = (typeof S3_STATES)[number]

/** Names a key in requests, and is no secret. */
export const s3AccessKeyId = z.string(by('required')).regex(/^BKIA[A-Z2-7]{16}$/, by('not_allowed'))

/** A key to one volume by S3. Its secret is kept sealed, and told once. */
export const s3Key = z.object({
  access_key_id: z.string(),
  access: z.enum(S3_KEY_ACCESS),
  /** The last four characters of its secret, by which it is told from others. */
  secret_end: z.string(),
  created_at: timestamp,
  /** To the minute or so; null while it was never used. */
  last_used_at: timestamp.nullable(),
  /** The address that it was last used from; null while it was never used. */
  last_used_from: z.string().nullable(),
  /** When it ends by itself, since another has taken its place; null: it does not. */
  ends_at: timestamp.nullable(),
})
z.globalRegistry.add(s3Key, { id: 'S3Key' })
export type S3Key = z.infer<typeof s3Key>

/** How a volume is reached by S3, and by which keys (R2.25, R3.11). */
export const volumeS3 = z.object({
  state: z.enum(S3_STATES),
  /** Why it is not served, in the engine's own words in English; empty where there are none. */
  detail: z.string(),
  /** Where S3 is spoken; null where no S3 server is. */
  endpoint: z.string().nullable(),
  /** The volume's id: other than its name it never changes. */
  bucket: z.string(),
  /** What requests are signed for. */
  region: z.string(),
  /** Newest first. */
  keys: z.array(s3Key),
})
z.globalRegistry.add(volumeS3, { id: 'VolumeS3' })
export type VolumeS3 = z.infer<typeof volumeS3>

/** A key with its secret, which nobody can be told again. */
export const madeS3Key = s3Key.extend({ secret_access_key: z.string() })
z.globalRegistry.add(madeS3Key, { id: 'MadeS3Key' })
export type MadeS3Key = z.infer<typeof madeS3Key>

export const getVolumeS3 = defineCall({
  operation: 'netvolume.s3',
  method: 'GET',
  path: '/api/netvolume/{id}/s3',
  summary: 'How a network volume is reached by S3: endpoint, bucket, region and keys, or why it is not.',
  audience: 'user',
  timeout: 'normal',
  retry: true,
  params: z.object({ id: volumeId }),
  data: volumeS3,
})

export const makeS3KeyBody = z.object({ access: z.enum(S3_KEY_ACCESS, by('not_allowed')) }, by('required'))
z.globalRegistry.add(makeS3KeyBody, { id: 'MakeS3KeyBody' })

export const makeS3Key = defineCall({
  operation: 'netvolume.make-s3-key',
  method: 'POST',
  path: '/api/netvolume/{id}/s3-key',
  summary: 'Makes an S3 key to a network volume. This answer is the only one that ever holds its secret.',
  audience: 'verified',
  timeout: 'normal',
  proof: 'recent',
  audit: { target: ['params.id'] },
  stales: ['netvolume.s3'],
  params: z.object({ id: volumeId }),
  body: makeS3KeyBody,
  data: madeS3Key,
})

const namedKey = z.object({ id: volumeId, access_key_id: s3AccessKeyId })

export const rotateS3Key = defineCall({
  operation: 'netvolume.rotate-s3-key',
  method: 'POST',
  path: '/api/netvolume/{id}/s3-key/{access_key_id}/rotate',
  summary:
    'Makes an S3 key that may do what another one may. That one ends by itself a day later, so that programs can be told.',
  audience: 'verified',
  timeout: 'normal',
  proof: 'recent',
  audit: { target: ['params.id'] },
  stales: ['netvolume.s3'],
  params: namedKey,
  data: madeS3Key,
})

export const revokeS3Key = defineCall({
  operation: 'netvolume.revoke-s3-key',
  method: 'DELETE',
  path: '/api/netvolume/{id}/s3-key/{access_key_id}',
  summary: 'Revokes an S3 key; requests with it are refused from then on.',
  audience: 'user',
  timeout: 'fast',
  audit: { target: ['params.id'] },
  stales: ['netvolume.s3'],
  params: namedKey,
  data: z.null(),
})

export const volumeS3Calls = [getVolumeS3, makeS3Key, rotateS3Key, revokeS3Key] as const
