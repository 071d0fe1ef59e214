import { basename } from 'node:path'
import { LANGUAGES } from '@berth/contract/limits'
import type { Plugin } from 'vite'
import { customerDocsHtml } from './customer-docs.ts'

/**
 * Turns a Markdown file of `docs/customers` into a module whose `html` is its HTML, made while the console is built: the
 * browser gets no Markdown and no parser.
 */
export function customerDocs(): Plugin {
  return {
    name: 'berth-customer-docs',
    enforce: 'pre',
    transform(source, id) {
      const [file = ''] = id.split('?')
      if (!file.endsWith('.md')) return null
      const language = LANGUAGES.find(known => known === basename(file, '.md'))
      if (!language) throw new Error(`${file}: is named after no language.`)
      return { code: `export const html = ${JSON.stringify(customerDocsHtml(source, language))}`, map: null }
    },
  }
}
