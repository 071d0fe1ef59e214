/**
 * Every way in which a call can fail. A code is never reused for something else; the texts stand in
 * `locales/{lng}/errors.json` under the same key (R8.1). `verdict` tells a program what to do: `retry` the
 * same call later, `change` something first, or `give_up`.
 */
export interface ErrorRule {
  /** HTTP status; account calls answer 200 with the envelope's status `error`, as Casdoor does. */
  http: number
  verdict: 'retry' | 'change' | 'give_up'
}

const rule = (http: number, verdict: ErrorRule['verdict']): ErrorRule => ({ http, verdict })

export const ERRORS = {
  // The wire.
  malformed_json: rule(400, 'change'),
  duplicate_key: rule(400, 'change'),
  validation_failed: rule(400, 'change'),
  required_fields: rule(400, 'change'),
  body_too_large: rule(413, 'change'),
  unsupported_media_type: rule(415, 'change'),
  method_not_allowed: rule(405, 'give_up'),
  too_many_requests: rule(429, 'retry'),
  idempotency_key_required: rule(400, 'change'),
  idempotency_key_reused: rule(409, 'change'),
  idempotency_in_progress: rule(409, 'retry'),
  not_found: rule(404, 'give_up'),
  forbidden: rule(403, 'give_up'),
  internal: rule(500, 'retry'),
  unavailable: rule(503, 'retry'),
  // Only the console says these: the call never reached the gateway, or its answer was not ours.
  network: rule(0, 'retry'),
  timed_out: rule(0, 'retry'),
  cancelled: rule(0, 'give_up'),
  request_failed: rule(0, 'retry'),
  init_failed: rule(0, 'retry'),

  // Accounts.
  login_required: rule(401, 'change'),
  login_expired: rule(401, 'change'),
  sign_out_first: rule(200, 'change'),
  recent_sign_in_required: rule(403, 'change'),
  sign_in_code_wait: rule(200, 'retry'),
  user_not_found: rule(200, 'change'),
  password_expired: rule(200, 'change'),
  login_failed: rule(200, 'change'),
  login_tries_left: rule(200, 'change'),
  login_frozen: rule(200, 'retry'),
  signup_failed: rule(200, 'retry'),
  email_taken: rule(200, 'change'),
  password_too_weak: rule(200, 'change'),
  terms_required: rule(200, 'change'),
  verify_link_invalid: rule(200, 'change'),
  verify_mail_wait: rule(200, 'retry'),
  sign_in_link_invalid: rule(200, 'change'),
  reset_link_expired: rule(200, 'change'),
  reset_link_invalid: rule(200, 'change'),
  reset_mail_wait: rule(200, 'retry'),
  reset_failed: rule(200, 'retry'),
  first_password_by_mail: rule(200, 'change'),
  oauth_failed: rule(200, 'retry'),
  unknown_sign_in_method: rule(200, 'change'),
  captcha_required: rule(200, 'change'),
  captcha_wrong: rule(200, 'change'),
  captcha_unavailable: rule(503, 'retry'),
  oauth_denied: rule(200, 'change'),
  oauth_email_missing: rule(200, 'change'),
  oauth_email_taken: rule(200, 'change'),
  oauth_linked_elsewhere: rule(200, 'change'),
  oauth_already_linked: rule(200, 'change'),
  oauth_not_linked: rule(200, 'change'),
  oauth_last_way_in: rule(200, 'change'),
  account_has_instances: rule(200, 'change'),
  // Only where a Casdoor server keeps the accounts.
  identity_unavailable: rule(503, 'retry'),
  account_blocked: rule(200, 'give_up'),
  second_factor_unsupported: rule(200, 'give_up'),
  account_not_activated: rule(403, 'change'),

  // Money.
  invalid_amount: rule(400, 'change'),
  currency_mismatch: rule(400, 'change'),
  payment_platform_unknown: rule(400, 'change'),
  // The installation has no way to pay.
  payments_not_set_up: rule(409, 'give_up'),
  payment_failed: rule(402, 'retry'),
  // The platform did not answer: the charge is settled later, or by the same key, never twice.
  payment_pending: rule(503, 'retry'),
  // The customer refused to confirm, or ended the payment.
  payment_not_confirmed: rule(402, 'change'),
  payment_canceled: rule(402, 'change'),
  topup_limit: rule(409, 'change'),
  webhook_refused: rule(400, 'give_up'),
  webhook_unreadable: rule(400, 'give_up'),
  test_card_required: rule(402, 'change'),
  card_declined: rule(402, 'change'),
  card_insufficient_funds: rule(402, 'change'),
  card_lost: rule(402, 'change'),
  card_stolen: rule(402, 'change'),
  card_expired: rule(402, 'change'),
  card_incorrect_cvc: rule(402, 'change'),
  card_processing_error: rule(402, 'retry'),
  insufficient_balance: rule(402, 'change'),
  payment_method_in_use: rule(409, 'change'),
  topup_settings_failed: rule(400, 'change'),

  // Compute.
  region_not_supported: rule(400, 'change'),
  gpu_spec_unknown: rule(400, 'change'),
  image_unknown: rule(400, 'change'),
  kind_not_supported: rule(400, 'change'),
  billing_type_not_supported: rule(400, 'change'),
  gpu_sold_out: rule(409, 'retry'),
  compute_unavailable: rule(503, 'retry'),
  instance_limit: rule(409, 'change'),
  instance_state: rule(409, 'change'),
  instance_changed: rule(409, 'retry'),
  instance_not_running: rule(409, 'change'),
  spend_limit_reached: rule(409, 'change'),
  create_image_pod: rule(409, 'change'),
  create_image_vm: rule(409, 'change'),
  terminal_ticket_invalid: rule(401, 'retry'),
  volume_name_incorrect: rule(400, 'change'),
  ssh_key_limit: rule(409, 'change'),
  registry_credential_limit: rule(409, 'change'),
  api_key_limit: rule(409, 'change'),

  // Models.
  model_call_failed: rule(502, 'retry'),
  context_length_exceeded: rule(400, 'change'),
} as const satisfies Record<string, ErrorRule>

export type ErrorCode = keyof typeof ERRORS

/** Rules that a field can break; their texts stand under `rules` in the same files. */
export const FIELD_RULES = [
  'required',
  'too_long',
  'too_short',
  'too_small',
  'too_large',
  'not_a_number',
  'not_whole',
  'not_allowed',
  'wrong_type',
  'unknown_field',
  'duplicate',
  'username_required',
  'username_emoji',
  'email',
  'password',
  'password_mismatch',
  'password_same',
  'password_common',
  'password_personal',
  'password_wrong',
  'code_wrong',
  'confirmation',
  'ssh_key',
  'ssh_key_private',
  'ssh_key_type',
  'ssh_key_weak',
  'ssh_key_known',
  'registry_host',
  'registry_host_private',
  'name_taken',
  'terms',
  'instance_name_required',
  'instance_name_length',
  'instance_name_characters',
  'port_range',
  'ports_max',
  'port_duplicate',
  'env_name',
  'env_duplicate',
  'moment',
  'moment_past',
  'moment_far',
  'below_cost',
  'invalid_amount',
] as const
export type FieldRule = (typeof FIELD_RULES)[number]
