import type { Element, ElementContent, Nodes, Root } from 'hast'
import { common, createLowlight } from 'lowlight'
import { setFormulasApart } from './formula-marks.ts'
import { drawFormulas } from './formula-tree.ts'
import { markdownTree } from './markdown-tree.ts'

/** Code that is coloured in one text, in letters: more is read by nobody, and takes long. */
const COLOURED_CHARS_MAX = 100_000
const LANGUAGE = /^language-/

const lowlight = createLowlight(common)

/**
 * Reads Markdown that grows, such as the answer of a model, who is not trusted either. Code is coloured where its language
 * is named, and formulas are drawn; what draws them is loaded with the first one.
 * @param text As it was written, so far.
 * @param key Put before the ids of footnotes: a page shows many answers.
 * @returns Its elements one by one, each as JSON, so that whoever draws them sees at once which have changed; null where it
 *   is deeper or larger than a page draws.
 */
export async function answerBlocks(text: string, key: string): Promise<string[] | null> {
  const apart = setFormulasApart(text)
  const tree = markdownTree(apart.text)
  if (tree === null) return null
  await drawFormulas(tree, apart.formulas)
  colour(tree, key)
  return tree.children.filter(node => node.type === 'element').map(node => JSON.stringify(node))
}

/** A tree that was read is no deeper than a stack. */
function colour(tree: Root, key: string): void {
  let left = COLOURED_CHARS_MAX
  const visit = (node: Nodes): void => {
    if (node.type !== 'element' && node.type !== 'root') return
    if (node.type === 'element') own(node, key)
    const language = languageOf(node)
    const code = language === null ? null : textOf(node)
    if (language !== null && code !== null && code.length <= left) {
      left -= code.length
      const coloured = lowlight.highlight(language, code)
      node.children = coloured.children as ElementContent[]
      return
    }
    for (const child of node.children) visit(child as Nodes)
  }
  visit(tree)
}

/** Puts the key before ids, and before what refers to them. */
function own({ properties }: Element, key: string): void {
  for (const name of ['id', 'ariaDescribedBy']) {
    const id = properties[name]
    const ids = typeof id === 'string' ? [id] : Array.isArray(id) ? id.map(String) : []
    if (ids.length > 0) properties[name] = ids.map(one => `${prefixed(one, key)}`).join(' ')
  }
  const { href } = properties
  if (typeof href === 'string' && href.startsWith(`#${PREFIX}`))
    properties.href = `#${prefixed(href.slice(1), key)}`
}

const PREFIX = 'user-content-'
const prefixed = (id: string, key: string) => `${PREFIX}${key}-${id.replace(PREFIX, '')}`

function languageOf(node: Nodes): string | null {
  if (node.type !== 'element' || node.tagName !== 'code') return null
  const { className } = node.properties
  const named = Array.isArray(className) ? className.find(name => LANGUAGE.test(String(name))) : undefined
  const language = named === undefined ? '' : String(named).replace(LANGUAGE, '').toLowerCase()
  return lowlight.registered(language) ? language : null
}

/** Null where there is more than a text in it. */
function textOf(node: Nodes): string | null {
  if (node.type !== 'element') return null
  return node.children.every(child => child.type === 'text')
    ? node.children.map(child => (child.type === 'text' ? child.value : '')).join('')
    : null
}
