import { KOREAN_PARTICLES, type KoreanParticle, withParticle } from '@berth/contract/korean-particles'
import { LANGUAGES, type Language } from '@berth/contract/limits'
import i18next from 'i18next'
import { initReactI18next } from 'react-i18next'
import { localeBackend } from './locale-backend.ts'

/** Where the choice is kept (R2.15); `public/first-paint.js` reads it for the page's `lang`. */
export const LANGUAGE_KEY = 'berth.language'

/** The languages by the name that their speakers know (R1.9). */
export const LANGUAGE_NAMES: Record<Language, string> = {
  en: 'English',
  zh: '中文',
  ja: '日本語',
  ko: '한국어',
}

/** One namespace for each page, so that a page loads its own texts only. */
export type Namespace =
  | 'common'
  | 'auth'
  | 'bills'
  | 'budgets'
  | 'bulk'
  | 'chat'
  | 'check-in'
  | 'coupons'
  | 'deploy'
  | 'docs'
  | 'doctor'
  | 'events'
  | 'explore'
  | 'files'
  | 'images'
  | 'image-form'
  | 'instance'
  | 'instances'
  | 'invoices'
  | 'making'
  | 'methods'
  | 'models'
  | 'keys'
  | 'offers'
  | 'payments'
  | 'public-ip'
  | 'refer'
  | 'resume'
  | 'session-logs'
  | 'settings'
  | 'terms-of-payment'
  | 'transactions'
  | 'volumes'
  | 'watches'
  | 'errors'

/** The language that was chosen on this device; English where none was (R9.8). */
function storedLanguage(): Language {
  try {
    const stored = localStorage.getItem(LANGUAGE_KEY)
    return LANGUAGES.find(language => language === stored) ?? LANGUAGES[0]
  } catch {
    return LANGUAGES[0]
  }
}

/** The interface's language now. */
export function currentLanguage(): Language {
  return LANGUAGES.find(language => language === i18next.language) ?? LANGUAGES[0]
}

/**
 * Changes the interface's language and keeps the choice on this device (R2.15).
 * @param language One of the four; its texts are loaded before anything changes on screen.
 */
export async function setLanguage(language: Language): Promise<void> {
  await i18next.changeLanguage(language)
  try {
    localStorage.setItem(LANGUAGE_KEY, language)
  } catch {
    // The choice then lasts as long as the page.
  }
}

/**
 * Loads the texts that every page needs, and ties `<html lang>` to the language.
 * @param namespaces Those of the page that opens, which are loaded with them.
 * @throws Error when no language could be fetched.
 */
export async function startI18n(namespaces: readonly Namespace[]): Promise<void> {
  i18next.on('languageChanged', language => {
    document.documentElement.lang = language
  })
  await i18next
    .use(localeBackend)
    .use(initReactI18next)
    .init({
      lng: storedLanguage(),
      fallbackLng: LANGUAGES[0],
      supportedLngs: [...LANGUAGES],
      ns: ['common', 'errors', ...namespaces],
      defaultNS: 'common',
      interpolation: { escapeValue: false },
      returnNull: false,
      // The backend tries again itself.
      maxRetries: 0,
    })
  addParticles(i18next)
  if (
    !i18next.hasResourceBundle(LANGUAGES[0], 'common') &&
    !i18next.hasResourceBundle(i18next.language, 'common')
  ) {
    throw new Error('The texts of the console could not be fetched.')
  }
}

/**
 * Teaches the Korean texts their particles: `{{name, 을를}}` is the name with the form that its last sound asks for.
 * @param instance After `init`.
 */
function addParticles(instance: typeof i18next): void {
  for (const particle of Object.keys(KOREAN_PARTICLES) as KoreanParticle[]) {
    instance.services.formatter?.add(particle, value => withParticle(String(value), particle))
  }
}

/** The texts of a page could not be fetched: without them it would show the names of its texts. */
export class TextsLost extends Error {}

/**
 * Loads the texts that a page needs beside the common ones, in the interface's language or, failing that, in English.
 * @throws TextsLost when they could not be fetched; the next call asks again.
 */
export async function loadTexts(namespaces: readonly Namespace[]): Promise<void> {
  await i18next.loadNamespaces([...namespaces])
  const lost = namespaces.filter(
    name =>
      !i18next.hasResourceBundle(i18next.language, name) && !i18next.hasResourceBundle(LANGUAGES[0], name),
  )
  if (lost.length > 0) throw new TextsLost(`The texts ${lost.join(', ')} could not be fetched.`)
}
