/** Longer than any formula within a line, and than any that stands on its own. */
const LINE_CHARS_MAX = 1_000
const DISPLAY_CHARS_MAX = 5_000
/** Formulas of one text; what comes after them is shown as it was written. */
const FORMULAS_MAX = 1_000
/** A sign that no writing has a meaning for: what comes with one has it taken out. */
const MARK = '\uE000'
export const MARKED = /\uE000(\d{1,4})\uE000/

/** A formula as a text has it. */
export interface Formula {
  tex: string
  /** With its signs. */
  raw: string
  /** Whether it stands on a line of its own. */
  isDisplay: boolean
  /** Whether its end has come: while a text is written, the last one has none yet. */
  isClosed: boolean
}

/** What the text may have where a formula or code begins: a fence, a row of backticks, dollars, or what a backslash hides. */
const SIGNS = /(?<=^|\n)[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?<fence>`{3,}|~{3,})|`+|\$\$?|\\[\s\S]/g
const BLANK_LINE = /\n[ \t>]*\n/
/** What may stand before a line that is a formula. */
const LINE_BEGINNING = /(?:^|\n)[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*$/
const LINE_END = /^[ \t]*[.,;:]?[ \t]*(?:\n|$)/
/** Before a single dollar that begins a formula, none of a word, a number, an address. */
const BEFORE_DOLLAR =
  /(?:^|[\s([{"'*_~|:;,>“‘（【「、。，：；–—-]|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])$/
/** A number and a word: a sum of money and what is said of it. */
const SUM = /^\d[\d.,]*[,;]?\s+\p{L}{2,}/u
const WORD = /^[\p{L}\p{N}$]/u
const CJK = /^[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/
/** What a line begins with in a quote is none of its formula. */
const QUOTED_LINE = /\n[ \t]*(?:>[ \t]?)+/g

/**
 * Sets formulas apart, as models write them (`$x$`, `$$x$$`, `\(x\)`, `\[x\]`), so that what reads Markdown makes nothing of
 * their signs. Sums of money are none: what stands between single dollars touches both, and neither a word nor a number touches
 * those from outside. Code is left as it is.
 * @param text As it was written, so far.
 * @returns The text with a mark for each, and the formulas in their order.
 */
export function setFormulasApart(text: string): { text: string; formulas: Formula[] } {
  const plain = text.replaceAll(MARK, '')
  const formulas: Formula[] = []
  if (!/[$\\]/.test(plain)) return { text: plain, formulas }
  const signs = new RegExp(SIGNS)
  let made = ''
  let from = 0
  for (let found = signs.exec(plain); found !== null; found = signs.exec(plain)) {
    const end = signs.lastIndex
    const code = codeEnd(plain, found, end)
    if (code !== null) {
      signs.lastIndex = code
      continue
    }
    const formula = formulas.length < FORMULAS_MAX ? formulaAt(plain, found.index) : null
    if (formula === null) continue
    made += `${plain.slice(from, found.index)}${MARK}${formulas.length}${MARK}`
    formulas.push(formula)
    from = found.index + formula.raw.length
    signs.lastIndex = from
  }
  return { text: made + plain.slice(from), formulas }
}

/** Where code ends that begins there; null where none does. */
function codeEnd(text: string, found: RegExpExecArray, end: number): number | null {
  const fence = found.groups?.fence
  if (fence !== undefined) {
    const closing = new RegExp(`\\n[ \\t>]*${fence[0]}{${fence.length},}[ \\t]*(?=\\n|$)`, 'g')
    closing.lastIndex = end
    return closing.exec(text) === null ? text.length : closing.lastIndex
  }
  const [run] = found
  if (run[0] !== '`') return null
  const closing = new RegExp(`(?<!\`)${run}(?!\`)`, 'g')
  closing.lastIndex = end
  return closing.exec(text) === null ? end : closing.lastIndex
}

/** The formula that begins there; null where none does. */
function formulaAt(text: string, at: number): Formula | null {
  const [first, second] = [text[at], text[at + 1]]
  if (first === '$') return second === '$' ? display(text, at, '$$') : money(text, at)
  if (second === '(') return within(text, at)
  return second === '[' && isLineBeginning(text, at) ? display(text, at, '\\]') : null
}

function money(text: string, at: number): Formula | null {
  if (!BEFORE_DOLLAR.test(text.slice(Math.max(0, at - 1), at))) return null
  const rest = text.slice(at + 1, at + 1 + LINE_CHARS_MAX)
  const tex = /^(?:[^$\\]|\\[\s\S])+(?=\$)/.exec(rest)?.[0]
  if (tex === undefined || /^\s|\s$/.test(tex) || BLANK_LINE.test(tex) || SUM.test(tex)) return null
  const after = text.slice(at + tex.length + 2, at + tex.length + 4)
  if (WORD.test(after) && !CJK.test(after)) return null
  return { tex, raw: text.slice(at, at + tex.length + 2), isDisplay: false, isClosed: true }
}

function within(text: string, at: number): Formula | null {
  const rest = text.slice(at + 2, at + 2 + LINE_CHARS_MAX)
  const end = rest.indexOf('\\)')
  const tex = end === -1 ? rest : rest.slice(0, end)
  if (BLANK_LINE.test(tex)) return null
  if (end !== -1) return { tex, raw: text.slice(at, at + end + 4), isDisplay: false, isClosed: true }
  return isRest(text, at, rest) ? { tex, raw: text.slice(at), isDisplay: false, isClosed: false } : null
}

function display(text: string, at: number, close: '$$' | '\\]'): Formula | null {
  const rest = text.slice(at + 2, at + 2 + DISPLAY_CHARS_MAX)
  const end = rest.indexOf(close)
  if (end === -1) {
    if (!isLineBeginning(text, at) || !isRest(text, at, rest)) return null
    return { tex: rest, raw: text.slice(at), isDisplay: true, isClosed: false }
  }
  // Brackets that a backslash hides within a line are brackets.
  if (close === '\\]' && !LINE_END.test(text.slice(at + end + 4, at + end + 4 + LINE_END_CHARS))) return null
  const tex = rest.slice(0, end).replace(QUOTED_LINE, '\n')
  if (tex.trim() === '') return null
  return { tex, raw: text.slice(at, at + end + 4), isDisplay: true, isClosed: true }
}
const LINE_END_CHARS = 40

function isLineBeginning(text: string, at: number): boolean {
  return LINE_BEGINNING.test(text.slice(Math.max(0, at - LINE_END_CHARS), at))
}

/** Whether what follows is all that there is so far. */
function isRest(text: string, at: number, rest: string): boolean {
  return at + 2 + rest.length === text.length && rest.trim() !== ''
}
