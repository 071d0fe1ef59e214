import * as z from 'zod'
import { defineCall } from './call.ts'
import { by, timestamp } from './fields.ts'
import { API_KEY_LIFE_DAYS_MAX, KEY_NAME_CHARS_MAX } from './limits.ts'

/** What a key's spend limit is for: a day or a month of UTC. */
export const SPEND_PERIODS = ['day', 'month'] as const

/** A key for the model endpoints (B10). Only its hash is kept. */
export const apiKey = z.object({
  id: z.string(),
  name: z.string(),
  /** The first characters, by which a customer tells keys apart, such as `bk-1a2b3c`. */
  prefix: z.string(),
  created_at: timestamp,
  /** To the minute or so; null while it was never used. */
  last_used_at: timestamp.nullable(),
  /** Null where it does not expire. */
  expires_at: timestamp.nullable(),
  /** Null where it was not revoked. */
  revoked_at: timestamp.nullable(),
})
z.globalRegistry.add(apiKey, { id: 'ApiKey' })
export type ApiKey = z.infer<typeof apiKey>

export const listApiKeys = defineCall({
  operation: 'api_key.list',
  method: 'GET',
  path: '/api/model-verse/api-key/',
  summary: 'The model API keys of the account, newest first, with those that are over or revoked.',
  audience: 'user',
  timeout: 'fast',
  retry: true,
  data: z.array(apiKey),
})

/** What the form that makes a key sends. */
export const createApiKeyBody = z.object({
  name: z.string(by('required')).trim().min(1, by('required')).max(KEY_NAME_CHARS_MAX, by('too_long')),
  /** Days until it expires; null never. */
  expires_in_days: z
    .number(by('not_a_number'))
    .int(by('not_whole'))
    .min(1, by('too_small'))
    .max(API_KEY_LIFE_DAYS_MAX, by('too_large'))
    .nullable()
    .default(null),
})
z.globalRegistry.add(createApiKeyBody, { id: 'CreateApiKeyBody' })

export const createApiKey = defineCall({
  operation: 'api_key.create',
  method: 'POST',
  path: '/api/model-verse/api-key/',
  summary: 'Makes a model API key. This answer is the only one that ever holds it.',
  audience: 'verified',
  timeout: 'normal',
  proof: 'recent',
  audit: { target: ['data.id'] },
  stales: ['api_key.list'],
  body: createApiKeyBody,
  data: apiKey.extend({ key: z.string() }),
})

export const revokeApiKey = defineCall({
  operation: 'api_key.revoke',
  method: 'DELETE',
  path: '/api/model-verse/api-key/{id}',
  summary: 'Revokes a model API key; calls with it are refused from then on.',
  audience: 'user',
  timeout: 'fast',
  audit: { target: ['params.id'] },
  stales: ['api_key.list'],
  params: z.object({ id: z.uuid(by('not_allowed')) }),
  data: z.null(),
})

export const apiKeyCalls = [listApiKeys, createApiKey, revokeApiKey] as const
