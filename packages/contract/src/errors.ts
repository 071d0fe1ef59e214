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
  cursor_invalid: rule(400, 'change'),
  body_too_large: rule(413, 'change'),
  body_too_slow: rule(408, 'retry'),
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
  // The operator keeps them out.
  account_suspended: rule(403, 'change'),
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
  account_has_volumes: rule(200, 'change'),
  account_has_images: rule(200, 'change'),
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
  // It was begun in another tab or on another device: nothing was charged now.
  topup_elsewhere: rule(409, 'change'),
  webhook_refused: rule(400, 'give_up'),
  webhook_unreadable: rule(400, 'give_up'),
  test_card_required: rule(402, 'change'),
  // The platform asks for cards on a page of its own, and none of their numbers may come here.
  payment_page_required: rule(402, 'change'),
  card_declined: rule(402, 'change'),
  card_insufficient_funds: rule(402, 'change'),
  card_lost: rule(402, 'change'),
  card_stolen: rule(402, 'change'),
  card_expired: rule(402, 'change'),
  card_incorrect_cvc: rule(402, 'change'),
  card_processing_error: rule(402, 'retry'),
  // The bank wants the customer to confirm, who is not there.
  card_authentication_required: rule(402, 'change'),
  insufficient_balance: rule(402, 'change'),
  coupon_not_found: rule(404, 'change'),
  // The account's currency never changes (R9.3).
  coupon_currency: rule(409, 'give_up'),
  coupon_not_yet: rule(409, 'retry'),
  coupon_ended: rule(409, 'give_up'),
  coupon_used_up: rule(409, 'give_up'),
  coupon_used: rule(409, 'give_up'),
  coupon_first_topup_only: rule(409, 'change'),
  coupon_minimum: rule(409, 'change'),
  payment_method_in_use: rule(409, 'change'),
  payment_method_required: rule(409, 'change'),
  payment_method_limit: rule(409, 'change'),
  cards_refused_limit: rule(409, 'retry'),
  topup_settings_failed: rule(400, 'change'),

  // Compute.
  region_not_supported: rule(400, 'change'),
  region_draining: rule(409, 'change'),
  gpu_spec_unknown: rule(400, 'change'),
  image_unknown: rule(400, 'change'),
  kind_not_supported: rule(400, 'change'),
  gpu_sold_out: rule(409, 'retry'),
  compute_unavailable: rule(503, 'retry'),
  instance_limit: rule(409, 'change'),
  instance_state: rule(409, 'change'),
  instance_changed: rule(409, 'retry'),
  instance_not_running: rule(409, 'change'),
  spend_limit_reached: rule(409, 'change'),
  // A budget that stops covers it, and is used up for its day or month.
  budget_reached: rule(409, 'change'),
  // There is one of that period for that already.
  budget_exists: rule(409, 'change'),
  budget_limit: rule(409, 'change'),
  // What is paid for in advance.
  price_changed: rule(409, 'change'),
  not_prepaid: rule(409, 'change'),
  already_prepaid: rule(409, 'change'),
  term_not_begun: rule(409, 'retry'),
  charge_type_same: rule(409, 'change'),
  term_too_far: rule(409, 'change'),
  // Addresses.
  public_ip_sold_out: rule(409, 'retry'),
  public_ip_bound: rule(409, 'change'),
  public_ip_not_bound: rule(409, 'change'),
  public_ip_no_ports: rule(409, 'change'),
  create_image_pod: rule(409, 'change'),
  create_image_vm: rule(409, 'change'),
  terminal_ticket_invalid: rule(401, 'retry'),
  // Files of a running instance.
  file_not_found: rule(404, 'change'),
  file_exists: rule(409, 'change'),
  file_wrong_kind: rule(409, 'change'),
  file_denied: rule(409, 'change'),
  file_no_room: rule(409, 'change'),
  file_folder_not_empty: rule(409, 'change'),
  file_too_large: rule(413, 'change'),
  // The machine has another part of the file than the one that this goes on from.
  file_out_of_step: rule(409, 'retry'),
  file_damaged: rule(409, 'retry'),
  // The machine's own program says why.
  file_failed: rule(409, 'change'),
  file_range: rule(416, 'change'),
  files_no_shell: rule(409, 'give_up'),
  files_no_tool: rule(409, 'give_up'),
  files_unsupported: rule(409, 'give_up'),
  files_guest_closed: rule(409, 'retry'),
  files_guest_refused: rule(409, 'change'),
  files_outdated: rule(409, 'change'),
  files_unclear: rule(409, 'retry'),
  transfer_limit: rule(429, 'retry'),
  transfer_idle: rule(408, 'retry'),
  download_ticket_invalid: rule(410, 'retry'),
  volume_name_incorrect: rule(400, 'change'),
  volume_limit: rule(409, 'change'),
  volume_state: rule(409, 'retry'),
  // An instance has it, running or stopped.
  volume_attached: rule(409, 'change'),
  // An instance runs with it, and one at a time may.
  volume_in_use: rule(409, 'change'),
  // No instance has one that holds objects.
  volume_of_objects: rule(409, 'change'),
  volume_one_only: rule(409, 'change'),
  volumes_not_offered: rule(409, 'change'),
  snapshot_limit: rule(409, 'change'),
  snapshot_state: rule(409, 'retry'),
  // A volume is being made of it.
  snapshot_in_use: rule(409, 'retry'),
  image_limit: rule(409, 'change'),
  // It is in a status in which that cannot be done.
  image_state: rule(409, 'change'),
  image_changed: rule(409, 'retry'),
  image_report_limit: rule(409, 'change'),
  dockerfile_invalid: rule(400, 'change'),
  ssh_key_limit: rule(409, 'change'),
  offer_watch_limit: rule(409, 'change'),
  registry_credential_limit: rule(409, 'change'),
  deploy_template_limit: rule(409, 'change'),
  api_key_limit: rule(409, 'change'),
  s3_key_limit: rule(409, 'change'),

  // Referrals. What was chosen is carried out, or it is too late.
  settlement_closed: rule(409, 'give_up'),
  paypal_required: rule(409, 'change'),
  // Money goes there soon.
  paypal_frozen: rule(409, 'retry'),
  paypal_link_invalid: rule(410, 'change'),
  paypal_mail_wait: rule(429, 'retry'),

  // Models.
  model_call_failed: rule(502, 'retry'),
  api_key_invalid: rule(401, 'change'),
  check_in_done: rule(409, 'retry'),
  check_in_not_offered: rule(404, 'give_up'),
  api_key_model: rule(403, 'change'),
  api_key_spent: rule(429, 'change'),
  model_call_repeated: rule(409, 'change'),
  model_unknown: rule(404, 'change'),
  // It is of another kind: a chat was asked of one that makes pictures, say.
  model_kind: rule(400, 'change'),
  // Whoever answers for the model found fault with the question, and says why.
  model_refused: rule(400, 'change'),
  // What became of a picture or a film that is kept; none of these costs anything.
  model_busy: rule(503, 'retry'),
  model_too_slow: rule(504, 'retry'),
  model_answer_wrong: rule(502, 'retry'),
  model_answer_too_large: rule(502, 'retry'),
  creations_under_way: rule(409, 'change'),
  creations_full: rule(409, 'change'),
  creation_state: rule(409, 'change'),
  context_length_exceeded: rule(400, 'change'),
  // The same, where whoever answers for the model says the numbers.
  context_length_over: rule(400, 'change'),
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
  'shells_max',
  'public_ip_no_ports',
  'env_name',
  'env_duplicate',
  'env_renamed',
  'file_path',
  'image_reference',
  'image_not_found',
  'image_needs_login',
  'image_login_refused',
  'image_unfit',
  'image_registry_away',
  'not_built_here',
  'git_missing',
  'git_url',
  'cover_type',
  'cover_too_large',
  'cover_too_small',
  'cover_pixels',
  'cover_broken',
  'cover_unknown',
  'picture_address',
  'picture_type',
  'picture_too_large',
  'picture_pixels',
  'pictures_over',
  'picture_unknown',
  'registry_mismatch',
  'moment',
  'moment_past',
  'moment_far',
  'below_cost',
  'volume_shrink',
  'snapshot_larger',
  'volume_path',
  'volume_path_reserved',
  'volume_elsewhere',
  'direct_ports_used_up',
  'direct_ports_not_offered',
  'ssh_key_unknown',
  'volume_path_clash',
  'own_disk_not_offered',
  'vm_only',
  'pod_only',
  'invalid_amount',
  'thousands_apart',
  'part_of_cent',
  'cap_below_amount',
] as const
export type FieldRule = (typeof FIELD_RULES)[number]

/** A rule that a field breaks, with what its text says of it. */
export interface RuleSaid {
  rule: FieldRule
  /** Fill the `{{…}}` of the rule's text; empty where there are none. */
  values: AmountValues | Record<never, never>
}

/** How schemas say which amounts are taken: from so many cents to so many. */
const AMOUNT_MESSAGE = /^invalid_amount (\d+) (\d+)$/

/**
 * The message of a schema for an amount out of its limits, which `ruleOfMessage` reads.
 * @param least In cents. @param most In cents.
 */
export const amountMessage = (least: number, most: number): string => `invalid_amount ${least} ${most}`

/** Fills the text of `invalid_amount`, the one rule whose text has something to fill. */
export type AmountValues = Record<'least' | 'most', string>

/** What an amount's limits are called in the text of `invalid_amount`. @param least In cents. @param most In cents. */
export function amountValues(least: number, most: number): AmountValues {
  return { least: unitsOf(least), most: unitsOf(most) }
}

/**
 * Reads which rule a message of a schema names. Of a message of the library's own the rule is none of `FIELD_RULES`, which
 * is for the caller to see: whoever only shows texts has no need of that list.
 */
export function ruleOfMessage(message: string): RuleSaid {
  const [, least, most] = AMOUNT_MESSAGE.exec(message) ?? []
  if (least !== undefined) {
    return { rule: 'invalid_amount', values: amountValues(Number(least), Number(most)) }
  }
  return { rule: message as FieldRule, values: {} }
}

/** Such as `10,000.00`: whoever is told knows the currency from the field, and all four languages write it so. */
function unitsOf(cents: number): string {
  return (cents / 100).toLocaleString('en-US', { minimumFractionDigits: 2 })
}
