import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { calls } from '@berth/contract/calls'
import { envExample, settingsTable } from './platform/config/settings-docs.ts'
import { openApiDocument } from './platform/http/openapi.ts'

const root = resolve(import.meta.dirname, '../../..')
const BEGIN = '<!-- settings: made by `npm run docs -w @berth/gateway` -->\n'
const END = '<!-- /settings -->'

/** Every document that is made from the code, by path from the root, with what it should hold. */
export function madeDocuments(): Map<string, string> {
  const guide = readFileSync(resolve(root, 'docs/operating.md'), 'utf8')
  return new Map([
    ['docs/openapi.json', `${JSON.stringify(openApiDocument(calls), null, 2)}\n`],
    ['.env.example', envExample()],
    ['docs/operating.md', withTable(guide)],
  ])
}

function withTable(guide: string): string {
  const from = guide.indexOf(BEGIN)
  const to = guide.indexOf(END)
  if (from < 0 || to < from) throw new Error('docs/operating.md has no place marked for the settings.')
  return `${guide.slice(0, from)}${BEGIN}\n${settingsTable()}\n${guide.slice(to)}`
}

if (import.meta.main) {
  for (const [path, text] of madeDocuments()) {
    writeFileSync(resolve(root, path), text)
    process.stdout.write(`wrote ${path}\n`)
  }
}
