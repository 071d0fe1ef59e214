import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { calls } from '@berth/contract/calls'
import { alarmsTable, alertRules } from './domains/alarms/alarm-docs.ts'
import { COMMANDS } from './operator/commands.ts'
import { commandDocs } from './operator/line/command-docs.ts'
import { chartSchema, envExample, settingsTable } from './platform/config/settings-docs.ts'
import { openApiDocument } from './platform/http/openapi.ts'

const root = resolve(import.meta.dirname, '../../..')
/** Parts of the operating guide that are made from the code, between marks of their own. */
const PARTS = { settings: settingsTable, commands: () => commandDocs(COMMANDS), alarms: alarmsTable }

/** Every document that is made from the code, by path from the root, with what it should hold. */
export function madeDocuments(): Map<string, string> {
  const read = (path: string) => readFileSync(resolve(root, path), 'utf8')
  const guide = read('docs/operating.md')
  const ownSettings = [...read('deploy/helm/templates/config.yaml').matchAll(/^ {2}([A-Z][A-Z0-9_]+):/gm)]
  return new Map([
    ['docs/openapi.json', `${JSON.stringify(openApiDocument(calls), null, 2)}\n`],
    ['.env.example', envExample()],
    ['docs/operating.md', withParts(guide)],
    ['deploy/prometheus/berth-alerts.yaml', alertRules()],
    [
      'deploy/helm/values.schema.json',
      chartSchema(
        read('deploy/helm/values.schema.json'),
        ownSettings.map(([, name = '']) => name),
      ),
    ],
  ])
}

function withParts(guide: string): string {
  let made = guide
  for (const [name, text] of Object.entries(PARTS)) {
    const begin = `<!-- ${name}: made by \`npm run docs -w @berth/gateway\` -->\n`
    const from = made.indexOf(begin)
    const to = made.indexOf(`<!-- /${name} -->`)
    if (from < 0 || to < from) throw new Error(`docs/operating.md has no place marked for ${name}.`)
    made = `${made.slice(0, from)}${begin}\n${text()}\n${made.slice(to)}`
  }
  return made
}

if (import.meta.main) {
  for (const [path, text] of madeDocuments()) {
    writeFileSync(resolve(root, path), text)
    process.stdout.write(`wrote ${path}\n`)
  }
}
