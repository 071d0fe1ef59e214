import { CURRENCIES, type Currency } from '@berth/contract/limits'
import { centsFromText, isCurrency, microFromCents } from '@berth/contract/money'
import { UsageError } from './answer.ts'
import type { ValueType } from './command.ts'

const DAY_MS = 86_400_000
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Whatever was typed, but not nothing. */
export function word(hint: string): ValueType<string> {
  return {
    hint,
    read(typed, name) {
      if (typed.trim() !== '') return typed.trim()
      throw new UsageError(`${name} is empty.`)
    },
  }
}

/** Words that people read, on one line. @param max In characters. */
export function sentence(max: number, whenEmpty: string): ValueType<string> {
  return {
    hint: '<words>',
    read(typed, name) {
      const words = typed.replace(/\s+/g, ' ').trim()
      if (words === '') throw new UsageError(whenEmpty)
      if (words.length > max) throw new UsageError(`${name} takes at most ${max} characters.`)
      return words
    },
  }
}

/** A text of a shape. @param words What is said of one that has another. */
export function shaped(hint: string, pattern: RegExp, words: string): ValueType<string> {
  return {
    hint,
    read(typed) {
      if (pattern.test(typed)) return typed
      throw new UsageError(words)
    },
  }
}

/** Whether it has the shape of an id, in lower case. */
export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** An id such as `uuidgen` makes, in lower case. */
export const UUID_VALUE: ValueType<string> = {
  hint: '<uuid>',
  read(typed, name) {
    const id = typed.toLowerCase()
    if (isUuid(id)) return id
    throw new UsageError(`${name} takes a UUID, such as uuidgen makes.`)
  },
}

/** One of a few words. */
export function oneOf<T extends string>(choices: readonly T[]): ValueType<T> {
  return {
    hint: `<${choices.join('|')}>`,
    choices,
    read(typed, name) {
      const found = choices.find(choice => choice === typed)
      if (found !== undefined) return found
      throw new UsageError(`${name} takes ${listed(choices)}.`)
    },
  }
}

/** `a, b or c`. */
export function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

export const CURRENCY: ValueType<Currency> = {
  hint: `<${CURRENCIES.join('|')}>`,
  choices: CURRENCIES,
  read(typed, name) {
    if (isCurrency(typed)) return typed
    throw new UsageError(`${name} takes ${listed(CURRENCIES)}.`)
  },
}

/** Whole cents, more than none: what is given is never rounded. In cents. */
export const CENTS: ValueType<number> = {
  hint: '<12.34>',
  read(typed, name) {
    const cents = /^\d{1,7}(\.\d{1,2})?$/.test(typed) ? centsFromText(typed) : null
    if (cents !== null && cents > 0) return cents
    throw new UsageError(
      `${name} takes more than nothing, less than ten million and two decimals at most, such as 12.34.`,
    )
  },
}

/** The same in micro-units. */
export const MONEY: ValueType<bigint> = {
  hint: CENTS.hint,
  read: (typed, name) => microFromCents(CENTS.read(typed, name)),
}

/** The moment at which a day of UTC begins. */
export const DAY: ValueType<Date> = {
  hint: '<yyyy-mm-dd>',
  read(typed, name) {
    const at = /^[1-9]\d{3}-\d\d-\d\d$/.test(typed) ? new Date(`${typed}T00:00:00.000Z`) : null
    // A 30th of February is another day for JavaScript.
    if (at && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(typed)) return at
    throw new UsageError(`${name} takes a day, such as 2026-12-31.`)
  },
}

/** The moment after a day that is a last one. */
export const LAST_DAY: ValueType<Date> = {
  hint: DAY.hint,
  read: (typed, name) => new Date(DAY.read(typed, name).getTime() + DAY_MS),
}

/** A whole number from 1 to `max`. */
export function upTo(max: number): ValueType<number> {
  return {
    hint: '<number>',
    read(typed, name) {
      const count = /^\d{1,9}$/.test(typed) ? Number(typed) : 0
      if (count >= 1 && count <= max) return count
      throw new UsageError(`${name} takes a whole number from 1 to ${max}.`)
    },
  }
}

/** A path of this computer. */
export function path(hint: string): ValueType<string> {
  return { ...word(hint), isFile: true }
}
