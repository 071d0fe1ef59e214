import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Brand } from '../config/brands.ts'
import { brandPage } from './brand-page.ts'
import { NONCE_PLACEHOLDER } from './page-security.ts'

/** What the build writes where the namespaces of a page's texts belong. */
const TEXTS_PLACEHOLDER = '__PAGE_TEXTS__'
/** What it writes where the page says whether money is real; the console reads it before it asks for anything. */
const PAYMENTS_PLACEHOLDER = '__PAYMENTS__'
/** Written by the console's build, see apps/console/build/page-parts-plugin.ts. */
const PARTS_FILE = '.vite/page-parts.json'

/** By path: the scripts that a page needs beside those that every page names, and the namespaces of its texts. */
type PageParts = Record<string, { scripts: string[]; texts: string[] }>

/** Gives a brand's page for a path, split where the nonce goes; null when the console is not built. */
type PageReader = (path: string, brand: Brand) => Promise<readonly string[] | null>

/** What the build wrote, and the pages that were made of it, by brand and path. */
interface Built {
  mtimeMs: number
  html: string
  parts: PageParts
  made: Map<Brand, Map<string, string[]>>
}

interface PageReaderOptions {
  consoleDir: string | null
  payments: string
}

/** Stands for all paths that the console does not know. */
const OTHER_PATH = ''

/**
 * Makes the reader of the console's page. For a path that the console knows, the page names all of its scripts and
 * texts, so that the browser fetches them together. Read again when the build has changed.
 * @param consoleDir The built console, or null when there is none.
 * @param payments What the page says of payments.
 */
export function createPageReader({ consoleDir, payments }: PageReaderOptions): PageReader {
  let built: Built | null = null
  return async (path, brand) => {
    if (consoleDir === null) return null
    try {
      const file = join(consoleDir, 'index.html')
      const { mtimeMs } = await stat(file)
      if (built?.mtimeMs !== mtimeMs) {
        const html = (await readFile(file, 'utf8')).replace(PAYMENTS_PLACEHOLDER, payments)
        built = { mtimeMs, html, parts: await readParts(consoleDir), made: new Map() }
      }
      return pageOf(built, path, brand)
    } catch {
      return null
    }
  }
}

function pageOf({ html, parts, made }: Built, asked: string, brand: Brand): string[] {
  const own = Object.hasOwn(parts, asked) ? parts[asked] : undefined
  const path = own ? asked : OTHER_PATH
  const pages = made.get(brand) ?? new Map<string, string[]>()
  made.set(brand, pages)
  const page = pages.get(path) ?? split(brandPage(html, brand), own ?? { scripts: [], texts: [] })
  pages.set(path, page)
  return page
}

/** A console without the file works as well, a round trip or two later. */
async function readParts(consoleDir: string): Promise<PageParts> {
  try {
    return JSON.parse(await readFile(join(consoleDir, PARTS_FILE), 'utf8')) as PageParts
  } catch {
    return {}
  }
}

function split(html: string, { scripts, texts }: PageParts[string] & object): string[] {
  const links = scripts.map(script => `<link rel="modulepreload" crossorigin href="${script}">`).join('')
  return html
    .replace(TEXTS_PLACEHOLDER, texts.join(' '))
    .replace('</head>', `${links}</head>`)
    .split(NONCE_PLACEHOLDER)
}
