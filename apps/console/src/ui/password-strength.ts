import { PASSWORD_PARTS } from '@berth/contract/fields'
import { PASSWORD_CHARS_MIN } from '@berth/contract/limits'

/** What a password is made of, by the names of the texts under `password.strength`. */
export const STRENGTH_PARTS = ['length', 'upper', 'lower', 'digit', 'special'] as const
export type StrengthPart = (typeof STRENGTH_PARTS)[number]

/**
 * The parts that a password still lacks (R5.2).
 * @param password As typed so far.
 * @returns In the order in which they are asked for; empty when it is strong enough.
 */
export function missingParts(password: string): StrengthPart[] {
  return STRENGTH_PARTS.filter(part => {
    if (part === 'length') return password.length < PASSWORD_CHARS_MIN
    return !PASSWORD_PARTS.some(rule => rule.name === part && rule.pattern.test(password))
  })
}
