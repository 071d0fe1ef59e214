/** Where links of a text may lead. One into the console, by its whole address or without a protocol, nobody expects of it. */
const LINK_PROTOCOLS = ['http:', 'https:', 'mailto:']
/** What remark puts before the ids of footnotes. */
const FOOTNOTE = /^#user-content-[\w-]+$/

/** Where a link leads: within the text, or out of the console. */
export interface TextLink {
  href: string
  within: boolean
}

/**
 * Where a link of a stranger's text may lead.
 * @param href As the text has it.
 * @returns The address as a browser reads it; null where it leads nowhere that it may: it is then shown as text.
 */
export function linkOf(href: string): TextLink | null {
  if (FOOTNOTE.test(href)) return { href, within: true }
  const url = parsed(href)
  if (!url || url.origin === location.origin) return null
  return LINK_PROTOCOLS.includes(url.protocol) ? { href: url.href, within: false } : null
}

/**
 * Whether a picture may be shown: the content policy lets the browser ask no other place for one.
 * @param src As the text has it.
 * @param from The one place, as an address; null where there is none.
 */
export function isPictureFrom(src: string, from: string | null): boolean {
  const place = from === null ? null : parsed(from)
  const url = parsed(src)
  return url !== null && place !== null && url.origin === place.origin
}

function parsed(address: string): URL | null {
  try {
    return new URL(address)
  } catch {
    return null
  }
}
