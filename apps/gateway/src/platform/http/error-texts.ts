import type { ErrorCode } from '@berth/contract/errors'
import type { Language } from '@berth/contract/limits'
import en from '@berth/contract/locales/en/errors.json' with { type: 'json' }
import ja from '@berth/contract/locales/ja/errors.json' with { type: 'json' }
import ko from '@berth/contract/locales/ko/errors.json' with { type: 'json' }
import zh from '@berth/contract/locales/zh/errors.json' with { type: 'json' }
import type { ErrorValues } from './api-error.ts'

interface ErrorTexts {
  [code: string]: string | Record<string, string>
  rules: Record<string, string>
  statuses: Record<string, string>
}

const TEXTS: Record<Language, ErrorTexts> = { en, zh, ja, ko }

/**
 * An error's text for people (R8.1).
 * @param values Fill the `{{…}}` of the text; an instance's `status` is put into the language too.
 */
export function errorText(language: Language, code: ErrorCode, values: ErrorValues): string {
  const text = TEXTS[language][code] ?? TEXTS.en[code]
  if (typeof text !== 'string') return code
  const { statuses } = TEXTS[language]
  const { status } = values
  return filled(text, status === undefined ? values : { ...values, status: statuses[status] ?? status })
}

/**
 * The text of a rule that a field breaks; the rule itself where there is no text.
 * @param values Fill the `{{…}}` of the text.
 */
export function ruleText(language: Language, rule: string, values: ErrorValues = {}): string {
  return filled(TEXTS[language].rules[rule] ?? TEXTS.en.rules[rule] ?? rule, values)
}

function filled(text: string, values: ErrorValues): string {
  return text.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => String(values[name] ?? whole))
}
