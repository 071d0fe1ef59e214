/** What a page knows of its brand without asking. */
export interface PageBrand {
  name: string
  /** A square mark; null for our own. */
  logo: { light: string; dark: string } | null
}

let known: PageBrand | null | undefined

/**
 * The brand that the gateway wrote into the page for its host (R1.10): it is there before anything is asked for, so
 * that no other name flashes up.
 * @returns Null where the page comes from a development server, which knows no brands.
 */
export function brandOfPage(): PageBrand | null {
  if (known === undefined) {
    const said = document.querySelector('meta[name="berth-brand"]')?.getAttribute('content')
    // A development server leaves the placeholder.
    known = said?.startsWith('{') ? JSON.parse(said) : null
  }
  return known ?? null
}
