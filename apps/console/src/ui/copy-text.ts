/**
 * Puts a text on the clipboard. The clipboard is missing where a page has no TLS; a selected text box still copies
 * there.
 * @param text What is copied.
 * @throws Error when the browser refuses.
 */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const box = document.createElement('textarea')
  box.value = text
  box.setAttribute('aria-hidden', 'true')
  document.body.append(box)
  box.select()
  const done = document.execCommand('copy')
  box.remove()
  if (!done) throw new Error('The browser refused to copy.')
}
