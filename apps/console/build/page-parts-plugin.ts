import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vite'

type Bundle = Parameters<Extract<Plugin['generateBundle'], (...args: never) => unknown>>[1]
type Chunk = Extract<Bundle[string], { type: 'chunk' }>

/** What a row of the table of routes says that matters here. */
interface Row {
  path: string
  access: string
  namespaces: readonly string[]
  load: () => unknown
}

interface RouteTable {
  PAGES: readonly Row[]
  /** Other spellings of a path. */
  ALIASES: Readonly<Record<string, string>>
}

const APP = new URL('../src/app/', import.meta.url)
/** What stands around a page. */
const AROUND_GUEST = ['GuestApp.tsx']
const AROUND_USER = ['ConsoleApp.tsx', 'shell/Shell.tsx']
/** What every page says, beside its own namespaces. */
const COMMON_TEXTS = ['common', 'errors']

/**
 * Writes `.vite/page-parts.json`: for each path of the table of routes, the scripts that the page needs beside those
 * that index.html names, and the namespaces of its texts. The gateway names them in the page that it sends, so that
 * the browser fetches all of them at once instead of learning of each from the one before.
 * @returns A plugin for builds. A build fails when the table of routes no longer reads as it expects.
 */
export function pageParts(): Plugin {
  return {
    name: 'berth-page-parts',
    apply: 'build',
    async generateBundle(_options, bundle) {
      const table = (await import(new URL('pages.ts', APP).href)) as RouteTable
      const chunks = Object.values(bundle).filter(file => file.type === 'chunk')
      const entries = chunks.filter(chunk => chunk.isEntry)
      const known = closure(entries, bundle)
      const parts = rowsOf(table).map(row => {
        const around = row.access === 'guest' ? AROUND_GUEST : AROUND_USER
        const roots = [...around, moduleOf(row)].map(file => chunkOf(file, chunks))
        const scripts = [...closure(roots, bundle)].filter(file => !known.has(file))
        const texts = [...new Set([...COMMON_TEXTS, ...row.namespaces])]
        return [row.path, { scripts: scripts.map(file => `/${file}`), texts }]
      })
      this.emitFile({
        type: 'asset',
        fileName: '.vite/page-parts.json',
        source: JSON.stringify(Object.fromEntries(parts)),
      })
    },
  }
}

/** The table with a row for each other spelling. */
function rowsOf({ PAGES, ALIASES }: RouteTable): readonly Row[] {
  const others = Object.entries(ALIASES).flatMap(([path, known]) =>
    PAGES.filter(row => row.path === known).map(row => ({ ...row, path })),
  )
  return [...PAGES, ...others]
}

/** The module that a row imports, relative to the table of routes: it stands in the text of its function only. */
function moduleOf({ path, load }: Row): string {
  const file = /import\(\s*["'`]([^"'`]+)["'`]\s*\)/.exec(String(load))?.[1]
  if (file === undefined) throw new Error(`The row of ${path} in the table of routes names no module.`)
  return file
}

function chunkOf(file: string, chunks: readonly Chunk[]): Chunk {
  const id = fileURLToPath(new URL(file, APP))
  const chunk = chunks.find(({ moduleIds }) => moduleIds.includes(id))
  if (!chunk) throw new Error(`The build has no ${file}; did it move?`)
  return chunk
}

/** The files of chunks and of everything that they import before they run. */
function closure(roots: readonly Chunk[], bundle: Bundle): Set<string> {
  const files = new Set<string>()
  const open = roots.map(({ fileName }) => fileName)
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    const chunk = bundle[file]
    if (files.has(file) || chunk?.type !== 'chunk') continue
    files.add(file)
    open.push(...chunk.imports)
  }
  return files
}
