import type { InvoicePage } from '@berth/contract/invoices'
import type { Language } from '@berth/contract/limits'
import { formatMicro, microFromCents } from '@berth/contract/money'
import PDFDocument from 'pdfkit'
import { type InvoiceFonts, loadFonts, type Weight } from './invoice-fonts.ts'
import { INVOICE_WORDS, type InvoiceWords } from './invoice-words.ts'

/** Points; an A4 sheet. */
const PAGE = { width: 595.28, left: 56, right: 539, bottom: 790 }
const COLUMN = { left: 56, middle: 306, width: 232 }
const LINE = 1.45
const GREY = '#5c6370'
const BLACK = '#15181e'

/** One text at its place. */
interface Text {
  text: string
  x: number
  y: number
  size: number
  weight: Weight
  color: string
  /** Ends at `x` instead of beginning there. */
  right?: boolean
}

/**
 * Draws a document as PDF: the same bytes for the same document, language and version of the fonts. It is slow work of
 * the processor: call it in a thread of its own.
 */
export async function drawInvoice(page: InvoicePage, language: Language): Promise<Uint8Array> {
  const words = INVOICE_WORDS[language]
  const fonts = await loadFonts(language, textsOf(page, words))
  const { number, date } = page.invoice
  const title = `${words.titles[page.invoice.kind]} ${number}`
  const doc = new PDFDocument({
    size: 'A4',
    margin: 0,
    lang: language,
    displayTitle: true,
    info: { Title: title, Author: page.seller.name, CreationDate: new Date(date), ModDate: new Date(date) },
    // No font of the library's own: it has Latin alone.
    font: null as unknown as string,
  })
  const chunks: Buffer[] = []
  const ended = new Promise<void>((resolve, reject) => {
    doc.on('data', (chunk: Buffer) => chunks.push(chunk))
    doc.on('end', resolve)
    doc.on('error', reject)
  })
  for (const { name, bytes } of fonts.fonts) doc.registerFont(name, bytes)
  drawAll(createPen(doc, fonts), page, words)
  doc.end()
  await ended
  return Buffer.concat(chunks)
}

type Pen = ReturnType<typeof createPen>

/** Writes lines whose signs come from several fonts. */
function createPen(doc: InstanceType<typeof PDFDocument>, fonts: InvoiceFonts) {
  /** Neighbouring signs of one font. What no font has is written as a square. */
  function runsOf(text: string, weight: Weight): { font: string; text: string }[] {
    const runs: { font: string; text: string }[] = []
    for (const sign of text) {
      const font = fonts.fontOf(sign, weight)
      const last = runs.at(-1)
      if (font === null) {
        const square = fonts.fontOf(UNKNOWN, weight)
        if (square !== null) runs.push({ font: square, text: UNKNOWN })
      } else if (last?.font === font) last.text += sign
      else runs.push({ font, text: sign })
    }
    return runs
  }
  function widthOf(text: string, size: number, weight: Weight): number {
    let width = 0
    for (const run of runsOf(text, weight)) width += doc.font(run.font, size).widthOfString(run.text)
    return width
  }
  return {
    doc,
    widthOf,
    write({ text, x, y, size, weight, color, right }: Text): void {
      let at = right ? x - widthOf(text, size, weight) : x
      doc.fillColor(color)
      for (const run of runsOf(text, weight)) {
        doc.font(run.font, size)
        doc.text(run.text, at, y, { lineBreak: false, baseline: 'alphabetic' })
        at += doc.widthOfString(run.text)
      }
    },
    /** Lines no wider than that: broken between words, and inside of what is longer than a line. */
    wrap(text: string, size: number, weight: Weight, width: number): string[] {
      return text.split('\n').flatMap(line => {
        const lines: string[] = []
        let rest = ''
        for (const part of line.match(/\S+\s*|\s+/g) ?? []) {
          if (widthOf((rest + part).trimEnd(), size, weight) <= width) {
            rest += part
            continue
          }
          if (rest !== '') lines.push(rest.trimEnd())
          rest = ''
          for (const sign of part) {
            if (rest !== '' && widthOf(rest + sign, size, weight) > width) {
              lines.push(rest)
              rest = ''
            }
            rest += sign
          }
        }
        return [...lines, rest.trimEnd()]
      })
    },
    rule(y: number, color: string): void {
      doc.moveTo(PAGE.left, y).lineTo(PAGE.right, y).lineWidth(0.7).strokeColor(color).stroke()
    },
  }
}

/** Stands for what no font has. */
const UNKNOWN = '?'
/** Digits and signs that figures are written with. */
const FIGURES = '0123456789-:.,$€−*UTC EURSD?'

/** All that is written, by weight: more than that is harmless. */
function textsOf(page: InvoicePage, words: InvoiceWords): Record<Weight, string> {
  const { seller, buyer, card, invoice } = page
  const parties = [seller, buyer].flatMap(({ name, address, tax_id }) => [name, address, tax_id])
  const all = [
    FIGURES,
    ...Object.values(words).flatMap(word => (typeof word === 'string' ? [word] : Object.values(word))),
    ...parties,
    card?.brand ?? '',
    invoice.number,
    page.corrects ?? '',
    customerOf(page),
  ].join('')
  const written = all.replaceAll('\n', '')
  const bold = [FIGURES, invoice.number, words.total, seller.name, buyer.name, words.what, words.amount]
  return { plain: written, bold: bold.concat(Object.values(words.titles)).join('') }
}

/** Whom it is made out to: where they have given no name, their account. */
function customerOf({ buyer, customer }: InvoicePage): string {
  return buyer.name === '' ? customer : buyer.name
}

function drawAll(pen: Pen, page: InvoicePage, words: InvoiceWords): void {
  const { invoice, seller, lines } = page
  const money = (cents: number) => formatMicro(microFromCents(cents), invoice.currency)
  pen.write({
    text: words.titles[invoice.kind],
    x: PAGE.left,
    y: 84,
    size: 24,
    weight: 'bold',
    color: BLACK,
  })
  pen.write({ text: seller.name, x: PAGE.right, y: 84, size: 13, weight: 'bold', color: BLACK, right: true })
  let y = drawFacts(pen, page, words, 112)
  y = Math.max(
    drawParty(pen, { heading: words.from, ...seller }, words, COLUMN.left, y + 22),
    drawParty(pen, { heading: words.to, ...buyerOf(page, words) }, words, COLUMN.middle, y + 22),
  )
  y += 30
  const head = { y, size: 9, weight: 'bold', color: GREY } as const
  pen.write({ ...head, text: words.what, x: PAGE.left })
  pen.write({ ...head, text: words.amount, x: PAGE.right, right: true })
  pen.rule(y + 8, BLACK)
  y += 26
  for (const { what, amount } of lines) {
    const line = { y, size: 10.5, weight: 'plain', color: BLACK } as const
    pen.write({ ...line, text: words.lines[what], x: PAGE.left })
    pen.write({ ...line, text: money(amount), x: PAGE.right, right: true })
    pen.rule(y + 9, '#d8dbe0')
    y += 25
  }
  const total = { y: y + 2, size: 12, weight: 'bold', color: BLACK } as const
  pen.write({ ...total, text: words.total, x: PAGE.left })
  pen.write({ ...total, text: `${money(invoice.amount)} ${invoice.currency}`, x: PAGE.right, right: true })
  y += 36
  const notes = [words.notes[invoice.kind]]
  if (page.credits > 0) notes.unshift(`${words.credits}: ${money(page.credits)}`)
  for (const text of notes) {
    pen.write({ text, x: PAGE.left, y, size: 10, weight: 'plain', color: GREY })
    y += 16
  }
  const foot = { y: PAGE.bottom, size: 8, weight: 'plain', color: GREY } as const
  pen.write({ ...foot, text: invoice.number, x: PAGE.left })
  pen.write({ ...foot, text: words.page, x: PAGE.right, right: true })
}

function buyerOf(page: InvoicePage, words: InvoiceWords) {
  const { name, address, tax_id } = page.buyer
  return { name: name === '' ? `${words.customer} ${customerOf(page)}` : name, address, tax_id }
}

/** Number, date and what else says what it is for. @returns The last line's place. */
function drawFacts(pen: Pen, page: InvoicePage, words: InvoiceWords, top: number): number {
  const { invoice, card, paid_at: paidAt, corrects } = page
  const facts: [string, string | null][] = [
    [words.number, invoice.number],
    [words.date, invoice.date.slice(0, 10)],
    [words.month, invoice.month?.slice(0, 7) ?? null],
    [words.corrects, corrects],
    [words.paidOn, invoice.kind === 'topup' ? (paidAt?.slice(0, 10) ?? null) : null],
    [invoice.kind === 'refund' ? words.refundedTo : words.paidBy, card && `${card.brand} **** ${card.last4}`],
  ]
  let y = top
  for (const [name, value] of facts) {
    if (value === null) continue
    pen.write({ text: name, x: PAGE.left, y, size: 10, weight: 'plain', color: GREY })
    pen.write({ text: value, x: PAGE.left + 150, y, size: 10, weight: 'plain', color: BLACK })
    y += 10 * LINE
  }
  return y
}

/** @returns The last line's place. */
function drawParty(
  pen: Pen,
  { heading, name, address, tax_id: taxId }: InvoicePage['seller'] & { heading: string },
  words: InvoiceWords,
  x: number,
  top: number,
): number {
  pen.write({ text: heading, x, y: top, size: 9, weight: 'plain', color: GREY })
  let y = top + 16
  const write = (text: string) => {
    for (const line of pen.wrap(text, 10, 'plain', COLUMN.width)) {
      pen.write({ text: line, x, y, size: 10, weight: 'plain', color: BLACK })
      y += 10 * LINE
    }
  }
  for (const text of [name, address, taxId === '' ? '' : `${words.taxId}: ${taxId}`]) {
    if (text !== '') write(text)
  }
  return y
}
