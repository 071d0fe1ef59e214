import * as z from 'zod'
import { amountMessage, type FieldRule } from './errors.ts'
import {
  CURRENCIES,
  EMAIL_CHARS_MAX,
  PAGE_SIZE_DEFAULT,
  PAGE_SIZE_MAX,
  PASSWORD_CHARS_MAX,
  PASSWORD_CHARS_MIN,
  USERNAME_CHARS_MAX,
} from './limits.ts'

/** Names the rule that a schema enforces: the message of a broken schema is a key, the text is looked up. */
const by = (rule: FieldRule): { error: FieldRule } => ({ error: rule })

// Skin tones are no pictographs to Unicode; U+FE0F turns a plain character into its emoji form, U+20E3 is a keycap.
const EMOJI = /\p{Extended_Pictographic}|\p{Emoji_Presentation}|\u{FE0F}|\u{20E3}/u

/**
 * Whether a text holds an emoji. Digits, # and * are no emoji by themselves.
 * @param text Any text.
 */
export function hasEmoji(text: string): boolean {
  return EMOJI.test(text)
}

// What shows nothing, or turns what stands after it around, and blanks that Unicode takes for letters and signs.
const UNSHOWN =
  /[\p{Cc}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u2800]|(?!\u200C|\u200D|\uFE0F)[\p{Cf}\p{Default_Ignorable_Code_Point}]/u
// These shape emoji and letters of several languages. What they have nothing to shape in, they only make look the same.
const SHAPES_NOTHING = /(?<!\P{ASCII})[\u200C\u200D]|(?<!\P{ASCII}|[0-9#*])\uFE0F/u

/**
 * Whether a name that others are shown looks like what it is: nobody can give two things names that look the same by what
 * is not seen, or have a name read otherwise than it is written (R6.4).
 * @param text Any text.
 */
export function isShownAsWritten(text: string): boolean {
  return !UNSHOWN.test(text) && !SHAPES_NOTHING.test(text)
}

/** A customer's display name (R5.1). */
export const username = z
  .string(by('username_required'))
  .trim()
  .min(1, by('username_required'))
  .max(USERNAME_CHARS_MAX, by('too_long'))
  .refine(value => !hasEmoji(value), by('username_emoji'))
  .refine(value => hasEmoji(value) || isShownAsWritten(value), by('not_allowed'))

/** An e-mail address, folded to lower case: it is the login name (R5.3). */
export const email = z
  .string(by('email'))
  .trim()
  .max(EMAIL_CHARS_MAX, by('email'))
  .pipe(z.email(by('email')))
  .transform(value => value.toLowerCase())

/** The four parts that a password needs besides its length (R5.2). */
export const PASSWORD_PARTS = [
  { name: 'upper', pattern: /\p{Lu}/u },
  { name: 'lower', pattern: /\p{Ll}/u },
  { name: 'digit', pattern: /\d/ },
  { name: 'special', pattern: /[^\p{L}\d\s]/u },
] as const

/** A new password (R5.2). */
export const newPassword = z
  .string(by('password'))
  .min(PASSWORD_CHARS_MIN, by('password'))
  .max(PASSWORD_CHARS_MAX, by('too_long'))
  .refine(value => PASSWORD_PARTS.every(part => part.pattern.test(value)), by('password'))

/** A password typed to sign in: only bounded, because old rules may have let it pass. */
export const typedPassword = z
  .string(by('required'))
  .min(1, by('required'))
  .max(PASSWORD_CHARS_MAX, by('too_long'))

/** A short identifier of the catalogue or of ours. */
export const slug = z
  .string(by('required'))
  .min(1, by('required'))
  .max(64, by('too_long'))
  .regex(/^[A-Za-z0-9._-]+$/, by('not_allowed'))

/**
 * An amount of money in whole cents; whatever else is sent, what is said of it has the limits.
 * @param least In cents. @param most In cents.
 */
export function centsBetween(least: number, most: number) {
  const outside = { error: amountMessage(least, most) }
  return z.number(outside).int(outside).min(least, outside).max(most, outside)
}

export const currency = z.enum(CURRENCIES, by('not_allowed'))

/** A point in time on the wire: ISO 8601 in UTC. */
export const timestamp = z.iso.datetime()

/** Micro-units on the wire: a decimal string, because JSON numbers lose whole units past 2^53. */
export const micro = z.string().regex(/^-?\d+$/)

/** Paging, as the seed spells it. */
export const page = {
  page: z.coerce
    .number(by('not_a_number'))
    .int(by('not_whole'))
    .min(1, by('too_small'))
    .max(100_000, by('too_large'))
    .default(1),
  page_size: z.coerce
    .number(by('not_a_number'))
    .int(by('not_whole'))
    .min(1, by('too_small'))
    .max(PAGE_SIZE_MAX, by('too_large'))
    .default(PAGE_SIZE_DEFAULT),
}

/** One page of a list. */
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({
    items: z.array(item),
    total: z.number().int(),
    page: z.number().int(),
    page_size: z.number().int(),
  })

export { by }
