import type { Element, ElementContent, Nodes, Root, Text } from 'hast'
import type katex from 'katex'
import { type Formula, MARKED } from './formula-marks.ts'

/** What a page draws of one formula without a pause. */
const NODES_MAX = 3_000
const DEPTH_MAX = 60
/** A macro that calls itself ends here; and nothing is larger than so many letters. */
const EXPANSIONS_MAX = 500
const SIZE_EMS_MAX = 10
/** Formulas that are remembered: a text that grows is read again and again. */
const REMEMBERED_MAX = 2_000

type Katex = typeof katex

/** Elements and attributes of MathML that a formula is made of: whatever else comes, it is shown as it was written. */
const TAGS = new Set(
  'math semantics annotation mrow mi mn mo ms mtext mspace msup msub msubsup mover munder munderover mfrac msqrt mroot mstyle mtable mtr mtd mpadded mphantom menclose mlabeledtr'.split(
    ' ',
  ),
)
const ATTRIBUTES = new Set(
  'xmlns display encoding mathvariant stretchy fence separator accent accentunder lspace rspace minsize maxsize width height depth voffset linethickness columnalign columnspacing columnlines rowspacing rowlines rowalign scriptlevel displaystyle mathcolor mathbackground notation largeop movablelimits symmetric form'.split(
    ' ',
  ),
)
const PIECE = /<(\/?)([a-z]+)((?: [a-zA-Z-]+ ?="[^"<>]*")*) ?(\/?)>|([^<]+)/gy
const ATTRIBUTE = / ([a-zA-Z-]+) ?="([^"]*)"/g
const ENTITY = /&(amp|lt|gt|quot|#x27);/g
const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'" }

/**
 * Puts formulas where their marks are: as MathML, which browsers draw without fonts or styles of ours, and read aloud. What is
 * no formula, or has not ended yet, stands there as it was written.
 */
export async function drawFormulas(tree: Root, formulas: readonly Formula[]): Promise<void> {
  if (formulas.length === 0) return
  const katex = formulas.some(({ isClosed }) => isClosed) ? (await import('katex')).default : null
  const visit = (node: Root | Element, isCode: boolean): void => {
    if (node.type === 'element') writeAttributes(node, formulas)
    node.children = (node.children as ElementContent[]).flatMap(child => {
      if (child.type === 'element') {
        visit(child, isCode || child.tagName === 'code')
        return [child]
      }
      return child.type === 'text' ? pieces(child, isCode, formulas, katex) : [child]
    })
  }
  visit(tree, false)
}

function writeAttributes({ properties }: Element, formulas: readonly Formula[]): void {
  for (const [name, value] of Object.entries(properties))
    if (typeof value === 'string' && MARKED.test(value)) properties[name] = written(value, formulas)
}

function written(text: string, formulas: readonly Formula[]): string {
  return text.replace(new RegExp(MARKED, 'g'), (_, number) => formulas[Number(number)]?.raw ?? '')
}

function pieces(
  { value }: Text,
  isCode: boolean,
  formulas: readonly Formula[],
  katex: Katex | null,
): ElementContent[] {
  if (isCode) return [{ type: 'text', value: written(value, formulas) }]
  // Every second part is the number of a mark.
  return value.split(MARKED).flatMap((part, at): ElementContent[] => {
    if (at % 2 === 0) return part === '' ? [] : [{ type: 'text', value: part }]
    const formula = formulas[Number(part)]
    return formula ? [drawn(formula, katex)] : []
  })
}

const remembered = new Map<string, Element | null>()

function drawn(formula: Formula, katex: Katex | null): Element {
  const name = `${formula.isDisplay} ${formula.tex}`
  let made = remembered.get(name)
  if (made === undefined || !formula.isClosed) {
    made = katex && formula.isClosed ? mathOf(formula, katex) : null
    if (formula.isClosed) remember(name, made)
  }
  const [tagName, children]: [string, ElementContent[]] = made
    ? ['span', [made]]
    : ['code', [{ type: 'text', value: formula.raw }]]
  const properties = formula.isDisplay
    ? { className: ['formula', 'formula-display'], tabIndex: 0 }
    : { className: ['formula'] }
  return { type: 'element', tagName, properties: made ? properties : {}, children }
}

function remember(name: string, made: Element | null): void {
  if (remembered.size >= REMEMBERED_MAX) remembered.clear()
  remembered.set(name, made)
}

/** Null where it cannot be read, or would be more than a page draws. */
function mathOf({ tex, isDisplay }: Formula, katex: Katex): Element | null {
  try {
    const markup = katex.renderToString(tex, {
      output: 'mathml',
      displayMode: isDisplay,
      throwOnError: true,
      strict: 'ignore',
      trust: false,
      maxExpand: EXPANSIONS_MAX,
      maxSize: SIZE_EMS_MAX,
    })
    return readMathml(markup)
  } catch {
    return null
  }
}

/**
 * Reads the markup that KaTeX makes, whose form is simple.
 * @returns Its `math` element; null where there is anything else in it than formulas have.
 */
function readMathml(markup: string): Element | null {
  const root: Root = { type: 'root', children: [] }
  const open: (Root | Element)[] = [root]
  const inner = /^<span class="katex">(<math[\s\S]*<\/math>)<\/span>$/.exec(markup)?.[1]
  if (inner === undefined) return null
  const reader = new RegExp(PIECE)
  let nodes = 0
  while (reader.lastIndex < inner.length) {
    const found = reader.exec(inner)
    const parent = open.at(-1)
    nodes += 1
    if (found === null || parent === undefined || nodes > NODES_MAX || open.length > DEPTH_MAX) return null
    const [, isEnd, tagName, attributes = '', isEmpty, text] = found
    if (text !== undefined) parent.children.push({ type: 'text', value: unescaped(text) })
    else if (tagName === undefined || !TAGS.has(tagName)) return null
    else if (isEnd) {
      if (parent.type !== 'element' || parent.tagName !== tagName) return null
      open.pop()
    } else {
      const element: Element = {
        type: 'element',
        tagName,
        properties: propertiesOf(attributes),
        children: [],
      }
      parent.children.push(element)
      if (!isEmpty) open.push(element)
    }
  }
  const [math] = root.children as Nodes[]
  return open.length === 1 && math?.type === 'element' ? math : null
}

function propertiesOf(attributes: string): Element['properties'] {
  const all = [...attributes.matchAll(ATTRIBUTE)].filter(([, name = '']) => ATTRIBUTES.has(name))
  return Object.fromEntries(all.map(([, name, value = '']) => [name, unescaped(value)]))
}

function unescaped(text: string): string {
  return text.replace(ENTITY, (_, name: string) => ENTITIES[name] ?? '')
}
