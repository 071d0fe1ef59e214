import { type ErrorCode, FIELD_RULES, type RuleSaid, ruleOfMessage } from '@berth/contract/errors'
import type * as z from 'zod'
import { ApiError, type ErrorValues } from './api-error.ts'

/** A field and the rule that it breaks; the text is added where the caller's language is known. */
export interface BrokenField {
  path: string
  rule: string
  /** Fill the `{{…}}` of the rule's text. */
  values?: ErrorValues
}

/** A caller can break any number of rules at names of any length; the answer stays short. */
const FIELDS_TOLD_MAX = 100
const PATH_CHARS_MAX = 200

/**
 * The path of what stands under `key` in `path`, cut where no real one reaches.
 * @param path Empty for the input itself.
 */
export function fieldPath(path: string, key: string): string {
  return (path === '' ? key : `${path}.${key}`).slice(0, PATH_CHARS_MAX)
}

const RULES: ReadonlySet<string> = new Set(FIELD_RULES)

/**
 * The fields that a schema found fault with.
 * @param error What the schema says.
 * @param input What was checked: tells a missing field from one of the wrong type.
 */
export function brokenFields(error: z.ZodError, input: unknown): BrokenField[] {
  const rules = new Map<string, Omit<BrokenField, 'path'>>()
  for (const issue of error.issues) {
    const path = issue.path.reduce<string>((path, part) => fieldPath(path, String(part)), '')
    // The first rule that a field breaks is the one to tell.
    if (!rules.has(path)) rules.set(path, ruleOf(issue, input))
  }
  return [...rules].map(([path, said]) => ({ path, ...said }))
}

/** Rules with a code of their own, which stands where fields break nothing else (R8.1). */
const CODES_OF_RULES: Readonly<Record<string, ErrorCode>> = {
  required: 'required_fields',
  invalid_amount: 'invalid_amount',
  password: 'password_too_weak',
  terms: 'terms_required',
}

/**
 * The error for broken fields: the code of the rule when all of them break the same one that has a code, such as
 * `required_fields`, else `validation_failed`.
 * @param broken In the order of what is to be told first: of several rules that a field breaks, one is told.
 */
export function fieldsError(broken: BrokenField[]): ApiError {
  const told = new Map<string, BrokenField>()
  for (const field of broken) if (!told.has(field.path)) told.set(field.path, field)
  const fields = [...told.values()]
  const rules = [...new Set(fields.map(({ rule }) => rule))]
  const own = rules.length === 1 ? CODES_OF_RULES[rules[0] ?? ''] : undefined
  return new ApiError(own ?? 'validation_failed', { fields: fields.slice(0, FIELDS_TOLD_MAX) })
}

type Issue = z.core.$ZodIssue

function ruleOf(issue: Issue, input: unknown): Omit<BrokenField, 'path'> {
  const given = ruleOfMessage(issue.message)
  const said = RULES.has(given.rule) ? given : null
  const isOwn = issue.code !== 'invalid_type' || (said !== null && said.rule !== 'required')
  if (said === null || !isOwn) return { rule: plainRule(issue, input) }
  return Object.keys(said.values).length === 0 ? { rule: said.rule } : said
}

/** The rule of an issue of which the schema says nothing particular. */
function plainRule(issue: Issue, input: unknown): RuleSaid['rule'] {
  switch (issue.code) {
    case 'invalid_type':
      return isMissing(valueAt(input, issue.path)) ? 'required' : 'wrong_type'
    case 'too_big':
      return isLength(issue.origin) ? 'too_long' : 'too_large'
    case 'too_small':
      return isLength(issue.origin) ? 'too_short' : 'too_small'
    case 'not_multiple_of':
      return 'not_whole'
    case 'invalid_format':
    case 'invalid_value':
    case 'invalid_union':
      return isMissing(valueAt(input, issue.path)) ? 'required' : 'not_allowed'
    default:
      return 'wrong_type'
  }
}

function isLength(origin: string): boolean {
  return origin === 'string' || origin === 'array' || origin === 'set'
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Record<PropertyKey, unknown>)[key]
  }
  return value
}
