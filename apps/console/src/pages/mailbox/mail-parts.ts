/** A stretch of a mail: plain text, or an address that is shown as a link. */
export interface MailPart {
  /** Where it begins in the mail; its identity. */
  at: number
  text: string
  link: boolean
}

/**
 * Cuts a mail into texts and web addresses. Only `http` and `https` become links, and a full stop or bracket
 * that ends a sentence stays outside.
 * @param text The mail's plain text.
 */
export function mailParts(text: string): MailPart[] {
  const parts: MailPart[] = []
  let from = 0
  for (const match of text.matchAll(/https?:\/\/[^\s<>"]+/g)) {
    const address = match[0].replace(/[.,;:!?)\]]+$/, '')
    if (match.index > from) parts.push({ at: from, text: text.slice(from, match.index), link: false })
    parts.push({ at: match.index, text: address, link: true })
    from = match.index + address.length
  }
  if (from < text.length) parts.push({ at: from, text: text.slice(from), link: false })
  return parts
}
