import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { calls } from '@berth/contract/calls'
import { alarmsTable, alertRules } from './domains/alarms/alarm-docs.ts'
import { envExample, settingsTable } from './platform/config/settings-docs.ts'
import { openApiDocument } from './platform/http/openapi.ts'

const root = resolve(import.meta.dirname, '../../..')

/** Every document that is made from the code, by path from the root, with what it should hold. */
export function madeDocuments(): Map<string, string> {
  const guide = readFileSync(resolve(root, 'docs/operating.md'), 'utf8')
  return new Map([
    ['docs/openapi.json', `${JSON.stringify(openApiDocument(calls), null, 2)}\n`],
    ['.env.example', envExample()],
    ['docs/operating.md', withTable(withTable(guide, 'settings', settingsTable()), 'alarms', alarmsTable())],
    ['deploy/prometheus/berth-alerts.yaml', alertRules()],
  ])
}

/** Puts a table between the two marks of its place. */
function withTable(guide: string, place: string, table: string): string {
  const begin = `<!-- ${place}: made by \`npm run docs -w @berth/gateway\` -->\n`
  const from = guide.indexOf(begin)
  const to = guide.indexOf(`<!-- /${place} -->`)
  if (from < 0 || to < from) throw new Error(`docs/operating.md has no place marked for the ${place}.`)
  return `${guide.slice(0, from)}${begin}\n${table}\n${guide.slice(to)}`
}

if (import.meta.main) {
  for (const [path, text] of madeDocuments()) {
    writeFileSync(resolve(root, path), text)
    process.stdout.write(`wrote ${path}\n`)
  }
}
