import { LANGUAGES, type Language } from '@berth/contract/limits'
import * as z from 'zod'

/** A catalogue text in one language. */
export const catalogueText = z.string().min(1, 'must not be empty').max(500)

const inLanguages = z.strictObject({
  en: catalogueText,
  zh: catalogueText.optional(),
  ja: catalogueText.optional(),
  ko: catalogueText.optional(),
})

/**
 * A text that customers read: one for all languages, or a map with English and any of the others. It is read as the
 * English one, by which the others are found.
 */
export const customerText = z.unknown().transform((value, context): string => {
  const isMap = typeof value === 'object' && value !== null
  const read = isMap ? inLanguages.safeParse(value) : catalogueText.safeParse(value)
  if (read.success) return typeof read.data === 'string' ? read.data : read.data.en
  for (const { path, message } of read.error.issues) {
    context.addIssue({ code: 'custom', path: [...path], message })
  }
  return z.NEVER
})

/** Texts by language, each by the English one. */
export type CatalogueWords = Readonly<Record<Language, ReadonlyMap<string, string>>>

/**
 * Collects what a catalogue says in other languages.
 * @param source The catalogue as it was read, valid.
 * @returns The texts, and English ones that are translated in two ways.
 */
export function collectWords(source: unknown): { words: CatalogueWords; torn: string[] } {
  const words = { en: new Map(), zh: new Map(), ja: new Map(), ko: new Map() } satisfies Record<
    Language,
    Map<string, string>
  >
  const torn: string[] = []
  const visit = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return
    const texts = inLanguages.safeParse(value)
    if (!texts.success) return Object.values(value).forEach(visit)
    const { en } = texts.data
    for (const language of LANGUAGES) {
      const said = texts.data[language]
      if (said === undefined) continue
      if ((words[language].get(en) ?? said) !== said) torn.push(en)
      words[language].set(en, said)
    }
  }
  visit(source)
  return { words, torn }
}

/** Says a text of the catalogue in a language; what the catalogue does not translate stays as it is. */
export type Say = (english: string, language: Language) => string

/**
 * How a catalogue's texts are said.
 * @param catalogue Holds what `collectWords` found, which is looked up each time: it may come to hold others.
 */
export function sayIn(catalogue: { readonly words: CatalogueWords }): Say {
  return (english, language) => catalogue.words[language].get(english) ?? english
}
