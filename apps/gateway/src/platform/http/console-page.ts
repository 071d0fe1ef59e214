import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { NONCE_PLACEHOLDER } from './page-security.ts'

/** What the build writes where the namespaces of a page's texts belong. */
const TEXTS_PLACEHOLDER = '__PAGE_TEXTS__'
/** Written by the console's build, see apps/console/build/page-parts-plugin.ts. */
const PARTS_FILE = '.vite/page-parts.json'

/** By path: the scripts that a page needs beside those that every page names, and the namespaces of its texts. */
type PageParts = Record<string, { scripts: string[]; texts: string[] }>

/** Gives the console's page for a path, split where the nonce goes; null when the console is not built. */
export type PageReader = (path: string) => Promise<readonly string[] | null>

/**
 * Makes the reader of the console's page. For a path that the console knows, the page names all of its scripts and
 * texts, so that the browser fetches them together. Read again when the build has changed.
 * @param consoleDir The built console, or null when there is none.
 */
export function createPageReader(consoleDir: string | null): PageReader {
  let cached: { mtimeMs: number; pages: Map<string, string[]>; other: string[] } | null = null
  return async path => {
    if (consoleDir === null) return null
    try {
      const file = join(consoleDir, 'index.html')
      const { mtimeMs } = await stat(file)
      if (cached?.mtimeMs !== mtimeMs) {
        const html = await readFile(file, 'utf8')
        const parts = await readParts(consoleDir)
        const pages = Object.entries(parts).map(([page, own]) => [page, split(html, own)] as const)
        cached = { mtimeMs, pages: new Map(pages), other: split(html, { scripts: [], texts: [] }) }
      }
      return cached.pages.get(path) ?? cached.other
    } catch {
      return null
    }
  }
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
