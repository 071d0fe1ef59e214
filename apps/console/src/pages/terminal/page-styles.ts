/**
 * Runs something that adds style elements to the page: the content policy takes only those with the page's nonce.
 * @param run Must be done when it returns.
 */
export function withStyleNonce(run: () => void): void {
  const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce
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
 * The page's document, for code that writes colours as style attributes, which the content policy refuses: on
 * elements that this document makes, they are set through the style object, which it allows.
 */
export function documentForStyleAttributes(): Document {
  return new Proxy(document, {
    get(target, key) {
      if (key === 'createElement') return createElement
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function createElement(name: string, options?: ElementCreationOptions): HTMLElement {
  const element = document.createElement(name, options)
  if (element instanceof HTMLSpanElement) element.setAttribute = setAttribute
  return element
}

function setAttribute(this: HTMLElement, name: string, value: string): void {
  if (name === 'style') this.style.cssText = value
  else Element.prototype.setAttribute.call(this, name, value)
}
