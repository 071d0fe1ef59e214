import type { Language } from '@berth/contract/limits'
import * as limits from '@berth/contract/limits'
import { Marked } from 'marked'
import { DOC_TOPICS } from '../src/pages/docs/topics.ts'

/** `{{NAME}}`: a constant of the contract. */
const FIGURE = /\{\{(\w+)\}\}/g

/**
 * Makes the HTML of the customers' docs.
 * @param markdown Its text, where `{{NAME}}` is a constant of the contract's limits.
 * @param language Whose figures and lists are written.
 * @returns HTML of paragraphs, lists, links, emphasis and code, with the topics as sections.
 * @throws Error at HTML in the text, at a constant that does not exist, and where topics are missing.
 */
export function customerDocsHtml(markdown: string, language: Language): string {
  const topics = [...DOC_TOPICS]
  const marked = new Marked({
    renderer: {
      html: ({ text }) => {
        throw new Error(`The customers’ docs hold HTML: ${text}`)
      },
      heading({ tokens, depth }) {
        const topic = topics.shift()
        if (depth !== 2 || topic === undefined) throw new Error('The customers’ docs have another heading.')
        return `<h2 id="${topic}">${this.parser.parseInline(tokens)}</h2>\n`
      },
    },
  })
  const text = markdown.replace(FIGURE, (_, name: string) => figure(name, language))
  const html = marked.parse(text, { async: false })
  if (topics.length > 0) throw new Error(`The customers’ docs lack ${topics.join(', ')}.`)
  return html
}

function figure(name: string, language: Language): string {
  const value: unknown = (limits as Record<string, unknown>)[name]
  if (Array.isArray(value)) {
    const last = language === 'en' ? 'en-GB' : language
    return new Intl.ListFormat(last, { type: 'conjunction' }).format(value.map(String))
  }
  // A path, say: what a customer types is the same in every language.
  if (typeof value === 'string') return value
  if (typeof value !== 'number') throw new Error(`The customers’ docs name a constant that is none: ${name}`)
  // Whole units of currency; the text beside it says which.
  return new Intl.NumberFormat(language).format(name.includes('_CENTS_') ? value / 100 : value)
}
