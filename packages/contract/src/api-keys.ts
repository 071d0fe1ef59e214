import * as z from 'zod'
import { BUDGET_PERIODS } from './budgets.ts'
import { defineCall } from './call.ts'
import { by, centsBetween, micro, timestamp } from './fields.ts'
import {
  ACCOUNT_TOKENS_PER_MINUTE_MAX,
  API_KEY_CALLS_PER_MINUTE_MAX,
  API_KEY_LIFE_DAYS_MAX,
  API_KEY_MODELS_MAX,
  BUDGET_CENTS_MAX,
  KEY_NAME_CHARS_MAX,
  LONG_TEXT_BODY_BYTES_MAX,
  MODEL_ID_CHARS_MAX,
} from './limits.ts'

/** A key's budget (B16): nothing but the balance limits one that has none. */
const apiKeySpend = z.object({
  /** In cents. */
  amount: z.number().int(),
  period: z.enum(BUDGET_PERIODS),
  /** Whether calls that may cost more than what is left are refused; else the budget only warns. */
  stops: z.boolean(),
  /** What its calls of this period have cost so far. */
  spent_micro: micro,
  /** When the period is over and all of it is there again. */
  until: timestamp,
})
z.globalRegistry.add(apiKeySpend, { id: 'ApiKeySpend' })

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
  /** The models that it may name; null all of them, also those that come later. */
  models: z.array(z.string()).nullable(),
  /** What its calls may cost in a period, which is its budget; null where nothing but the balance limits it. */
  spend_limit: apiKeySpend.nullable(),
  /** Calls that it may make in a minute; null as many as any key. */
  requests_per_minute: z.number().int().nullable(),
  /** Tokens that its calls may use in a minute; null as many as the account. */
  tokens_per_minute: z.number().int().nullable(),
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

const name = z.string(by('required')).trim().min(1, by('required')).max(KEY_NAME_CHARS_MAX, by('too_long'))
const models = z
  .array(
    z.string(by('wrong_type')).min(1, by('required')).max(MODEL_ID_CHARS_MAX, by('too_long')),
    by('wrong_type'),
  )
  .min(1, by('required'))
  .max(API_KEY_MODELS_MAX, by('too_large'))
  .nullable()
/** In cents. */
const spendAmount = centsBetween(1, BUDGET_CENTS_MAX)
const spendWanted = z.object(
  {
    amount: spendAmount,
    period: z.enum(BUDGET_PERIODS, by('not_allowed')),
    stops: z.boolean(by('wrong_type')).default(true),
  },
  by('wrong_type'),
)
z.globalRegistry.add(spendWanted, { id: 'ApiKeySpendWanted' })
const spendLimit = spendWanted.nullable()
const requestsPerMinute = z
  .number(by('not_a_number'))
  .int(by('not_whole'))
  .min(1, by('too_small'))
  .max(API_KEY_CALLS_PER_MINUTE_MAX, by('too_large'))
  .nullable()
const tokensPerMinute = z
  .number(by('not_a_number'))
  .int(by('not_whole'))
  .min(1, by('too_small'))
  .max(ACCOUNT_TOKENS_PER_MINUTE_MAX, by('too_large'))
  .nullable()

/** What the form that makes a key sends. */
export const createApiKeyBody = z.object({
  name,
  /** Days until it expires; null never. */
  expires_in_days: z
    .number(by('not_a_number'))
    .int(by('not_whole'))
    .min(1, by('too_small'))
    .max(API_KEY_LIFE_DAYS_MAX, by('too_large'))
    .nullable()
    .default(null),
  models: models.default(null),
  spend_limit: spendLimit.default(null),
  requests_per_minute: requestsPerMinute.default(null),
  tokens_per_minute: tokensPerMinute.default(null),
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
  stales: ['api_key.list', 'bill.budgets'],
  body: createApiKeyBody,
  bodyBytesMax: LONG_TEXT_BODY_BYTES_MAX,
  data: apiKey.extend({ key: z.string() }),
})

/** What the form of a key that is there sends: all that may be changed of it. */
export const editApiKeyBody = z.object({
  name,
  models,
  spend_limit: spendLimit,
  requests_per_minute: requestsPerMinute,
  tokens_per_minute: tokensPerMinute,
})
z.globalRegistry.add(editApiKeyBody, { id: 'EditApiKeyBody' })

export const editApiKey = defineCall({
  operation: 'api_key.edit',
  method: 'PUT',
  path: '/api/model-verse/api-key/{id}',
  summary:
    'Changes what a model API key is called and how it is limited, for its next call on every gateway.',
  audience: 'verified',
  timeout: 'fast',
  audit: { target: ['params.id'] },
  stales: ['api_key.list', 'bill.budgets'],
  params: z.object({ id: z.uuid(by('not_allowed')) }),
  body: editApiKeyBody,
  bodyBytesMax: LONG_TEXT_BODY_BYTES_MAX,
  data: apiKey,
})

export const revokeApiKey = defineCall({
  operation: 'api_key.revoke',
  method: 'DELETE',
  path: '/api/model-verse/api-key/{id}',
  summary: 'Revokes a model API key; calls with it are refused from then on.',
  audience: 'user',
  timeout: 'fast',
  audit: { target: ['params.id'] },
  stales: ['api_key.list', 'bill.budgets'],
  params: z.object({ id: z.uuid(by('not_allowed')) }),
  data: z.null(),
})

export const apiKeyCalls = [listApiKeys, createApiKey, editApiKey, revokeApiKey] as const
