import type { Element, Nodes, Root } from 'hast'
import rehypeSanitize, { defaultSchema } from 'rehype-sanitize'
import remarkGfm from 'remark-gfm'
import remarkParse from 'remark-parse'
import remarkRehype from 'remark-rehype'
import { unified } from 'unified'

/** Lists in lists and quotes in quotes, far beyond what anybody writes by hand; what draws a tree calls itself this deep. */
const MARKDOWN_DEPTH_MAX = 100
/** Elements and texts that a page draws without a pause: a text of some 500 printed pages. */
const MARKDOWN_NODES_MAX = 60_000

/**
 * What may stand in a text of a stranger: the allow-list that GitHub publishes, with fewer kinds of links. Ids are only
 * those of footnotes, which remark makes under a prefix of their own.
 */
const SCHEMA = {
  ...defaultSchema,
  clobber: [],
  protocols: { ...defaultSchema.protocols, href: ['http', 'https', 'mailto'], src: ['http', 'https'] },
}

/** HTML in the text is dropped where it is read, so that the allow-list is the second to refuse it. */
const reader = unified()
  .use(remarkParse)
  .use(remarkGfm)
  .use(remarkRehype, { allowDangerousHtml: false })
  .use(rehypeSanitize, SCHEMA)
  .freeze()

/**
 * Reads Markdown (GitHub's) of somebody who is not trusted.
 * @param text As it was written. How long reading takes can grow with the square of its length, so a page has it done by
 *   a worker.
 * @returns A tree of allowed elements without positions; null where it is deeper or larger than a page draws.
 */
export function markdownTree(text: string): Root | null {
  const tree = reader.runSync(reader.parse(text))
  return tree.type === 'root' && isDrawable(tree) ? tree : null
}

/** Looks without calling itself, since a tree may be deeper than a stack. */
function isDrawable(tree: Root): boolean {
  let nodes = 0
  const open: { node: Nodes; depth: number }[] = [{ node: tree, depth: 0 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, depth } = next
    nodes += 1
    if (depth > MARKDOWN_DEPTH_MAX || nodes > MARKDOWN_NODES_MAX) return false
    delete node.position
    for (const child of childrenOf(node)) open.push({ node: child, depth: depth + 1 })
  }
  return true
}

function childrenOf(node: Nodes): readonly (Element | Nodes)[] {
  return 'children' in node ? node.children : []
}
