import { pageNonce } from '../../ui/page-nonce.ts'

/**
 * Runs something that adds style elements to the page: the content policy takes only those with the page's nonce.
 * @param run Must be done when it returns.
 */
export function withStyleNonce(run: () => void): void {
  const nonce = pageNonce()
  if (!nonce) {
    run()
    return
  }
  const createElement = document.createElement
  document.createElement = ((name: string, options?: ElementCreationOptions) => {
    const element = createElement.call(document, name, options)
    if (element instanceof HTMLStyleElement) element.nonce = nonce
    return element
  }) as typeof document.createElement
  try {
    run()
  } finally {
    // What was there is the prototype's again.
    Reflect.deleteProperty(document, 'createElement')
  }
}

/**
 * Lets scripts set the style attribute of spans, which the content policy refuses: it is set through the style
 * object, which the policy allows. The emulator writes 24-bit colours that way. A style attribute in HTML text stays
 * refused, and that is what the policy is there for.
 */
export function allowSpanStyles(): void {
  if (Object.hasOwn(HTMLSpanElement.prototype, 'setAttribute')) return
  HTMLSpanElement.prototype.setAttribute = function (name: string, value: string) {
    if (name === 'style') this.style.cssText = value
    else Element.prototype.setAttribute.call(this, name, value)
  }
}
