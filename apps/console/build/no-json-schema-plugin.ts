import { readFile } from 'node:fs/promises'
import type { Plugin } from 'vite'

const JSON_SCHEMA_PARTS = /\/zod\/v4\/core\/(?:json-schema-processors|to-json-schema)\.js$/

/**
 * Leaves the making of JSON Schema out of the browser's zod. Every zod schema carries it, so that no bundler can
 * tell that it is never called here: only the gateway writes an OpenAPI document. It is a tenth of what `/auth`
 * may weigh, for nothing.
 * @returns A plugin that puts functions which say so in place of the two modules.
 */
export function noJsonSchema(): Plugin {
  return {
    name: 'berth-no-json-schema',
    apply: 'build',
    enforce: 'pre',
    async load(id) {
      if (!JSON_SCHEMA_PARTS.test(id)) return null
      const source = await readFile(id, 'utf8')
      const names = [
        ...Array.from(source.matchAll(/^export (?:function|const) (\w+)/gm), match => match[1]),
        ...Array.from(source.matchAll(/^export \{ \w+ as (\w+) \}/gm), match => match[1]),
      ]
      const absent = `const absent = () => { throw new Error('The console makes no JSON Schema.') }\n`
      // The two `create…Method` functions run while a schema is made, and must give a function.
      const exports = names.map(name =>
        name?.startsWith('create')
          ? `const ${name}_ = () => absent\nexport { ${name}_ as ${name} }`
          : `export { absent as ${name} }`,
      )
      return absent + exports.join('\n')
    },
  }
}
