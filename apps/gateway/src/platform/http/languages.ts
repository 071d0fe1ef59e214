import { LANGUAGES, type Language } from '@berth/contract/limits'

/** Header values seen lately: browsers send few different ones, strangers may send any. */
const CACHED_MAX = 500
const HEADER_CHARS_MAX = 200
const cached = new Map<string, Language>()

/**
 * The caller's language (R7.7): the first of the header's list that there are texts in, else the default.
 * @param header `Accept-Language`, such as `zh-CN,zh;q=0.9,en;q=0.8`; its list stands in order of preference.
 */
export function pickLanguage(header: string | undefined): Language {
  if (!header) return LANGUAGES[0]
  const known = cached.get(header)
  if (known) return known
  const language = firstSpoken(header.slice(0, HEADER_CHARS_MAX))
  if (cached.size >= CACHED_MAX) cached.clear()
  if (header.length <= HEADER_CHARS_MAX) cached.set(header, language)
  return language
}

function firstSpoken(header: string): Language {
  const wanted = header.split(',').map(part => part.split(';')[0]?.trim().toLowerCase().split('-')[0])
  for (const one of wanted) {
    const found = LANGUAGES.find(language => language === one)
    if (found) return found
  }
  return LANGUAGES[0]
}
