import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { LANGUAGES, type Language } from '@berth/contract/limits'
import { Marked } from 'marked'
import type { BrandTerms } from './brands.ts'

/** The plain terms that come with the gateway. */
const SHIPPED_FOLDER = resolve(import.meta.dirname, '../../../../../config/terms')
/** Some thirty printed pages; what is larger than this was meant for something else. */
const FILE_BYTES_MAX = 200_000
/** Where the text says the name of the brand. */
const BRAND_NAME = /\{\{brand\}\}/g
/** The page's own title is the one heading above them. */
const HEADING_DEPTH_MIN = 2
const HEADING_DEPTH_MAX = 6
/** Addresses that a link may lead to: a site, a mail address, a path of the console, a heading. */
const LINK = /^(https?:\/\/|mailto:|\/(?!\/)|#)/i

/**
 * Reads the terms of a brand that stand in files.
 * @param terms As the catalogue has them; what leads elsewhere stays as it is.
 * @param brandName Stands wherever the text has `{{brand}}`.
 * @param folder Where the catalogue lies.
 * @returns The terms with HTML in all languages: English where the brand has no text of its own in one.
 * @throws Error that names the file.
 */
export function readTerms(terms: BrandTerms, brandName: string, folder: string): BrandTerms {
  const { files } = terms
  if (files === null) return terms
  const read = (name: string, from: string) => termsHtml(readText(name, from), brandName, name)
  const htmlOf = (language: Language) =>
    files === 'shipped' ? read(`${language}.md`, SHIPPED_FOLDER) : read(files[language] ?? files.en, folder)
  return {
    ...terms,
    html: Object.fromEntries(LANGUAGES.map(one => [one, htmlOf(one)])) as BrandTerms['html'],
  }
}

function readText(name: string, folder: string): string {
  let bytes: Uint8Array
  try {
    bytes = readFileSync(resolve(folder, name))
  } catch (cause) {
    throw new Error(`brands: ${name} cannot be read (${(cause as NodeJS.ErrnoException).code ?? 'unknown'})`)
  }
  if (bytes.length > FILE_BYTES_MAX) {
    throw new Error(`brands: ${name} has ${bytes.length} bytes; terms take ${FILE_BYTES_MAX} at most`)
  }
  return new TextDecoder().decode(bytes)
}

/**
 * Makes HTML that a page can show as it is. Its highest headings become `h2`, below the page's own title.
 * @throws Error at HTML, at a picture and at a link that runs something.
 */
function termsHtml(markdown: string, brandName: string, file: string): string {
  const refuse = (what: string): never => {
    throw new Error(`brands: ${file} holds ${what}`)
  }
  const marked = new Marked()
  // A name may have signs that mean something in Markdown.
  const name = brandName.replace(/[!-/:-@[-`{-~]/g, '\\$&')
  const text = markdown.replace(BRAND_NAME, () => name)
  const highest = Math.min(
    ...marked.lexer(text).flatMap(token => (token.type === 'heading' ? [Number(token.depth)] : [])),
  )
  marked.use({
    renderer: {
      html: ({ text }) => refuse(`HTML: ${text.trim()}`),
      image: ({ raw }) => refuse(`a picture: ${raw}`),
      link: ({ href, raw }) => (LINK.test(href) ? false : refuse(`a link that leads nowhere: ${raw}`)),
      heading({ tokens, depth }) {
        const tag = `h${Math.min(HEADING_DEPTH_MAX, depth - highest + HEADING_DEPTH_MIN)}`
        return `<${tag}>${this.parser.parseInline(tokens)}</${tag}>\n`
      },
    },
  })
  return marked.parse(text, { async: false })
}
