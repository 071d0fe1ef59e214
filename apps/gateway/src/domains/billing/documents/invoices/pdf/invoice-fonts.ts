import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Language } from '@berth/contract/limits'
import { create } from 'fontkit'
import subsetFont from 'subset-font'

/**
 * Noto Sans as its packages have it: a hundred small files for each family, each with some of its signs. Only those
 * that a text needs are read, and only the signs of the text go into the document.
 */
const FAMILIES = ['noto-sans-sc', 'noto-sans-jp', 'noto-sans-kr', 'noto-sans'] as const
type Family = (typeof FAMILIES)[number]

/**
 * Han characters are drawn as the reader's language draws them; what a family lacks comes from the next. The last one has
 * the letters of Poland, Turkey or Greece, which the first three have only some of.
 */
const ORDER: Record<Language, readonly Family[]> = {
  en: ['noto-sans-sc', 'noto-sans-jp', 'noto-sans-kr', 'noto-sans'],
  zh: ['noto-sans-sc', 'noto-sans-jp', 'noto-sans-kr', 'noto-sans'],
  ja: ['noto-sans-jp', 'noto-sans-sc', 'noto-sans-kr', 'noto-sans'],
  ko: ['noto-sans-kr', 'noto-sans-sc', 'noto-sans-jp', 'noto-sans'],
}

export type Weight = 'plain' | 'bold'
const WEIGHTS: Record<Weight, number> = { plain: 400, bold: 600 }

const require = createRequire(import.meta.url)

interface Slice {
  family: Family
  file: string
  ranges: [number, number][]
}

/** A font of the document, and which signs are drawn with it. */
export interface InvoiceFont {
  name: string
  bytes: Buffer
}

export interface InvoiceFonts {
  fonts: InvoiceFont[]
  /** The name of the font that has a sign; null where no font has it. */
  fontOf(sign: string, weight: Weight): string | null
}

/**
 * The fonts for a document.
 * @param texts All that is written in it, by weight.
 */
export async function loadFonts(language: Language, texts: Record<Weight, string>): Promise<InvoiceFonts> {
  const slices = ORDER[language].flatMap(readSlices)
  const fonts: InvoiceFont[] = []
  const names = new Map<string, string>()
  for (const weight of ['plain', 'bold'] as const) {
    // A package claims more for a file than it has: what is not in one is looked for in the next that claims it.
    let missing = Array.from(new Set(texts[weight]), sign => ({ sign, next: 0 }))
    for (let round = 0; missing.length > 0; round += 1) {
      const wanted = new Map<Slice, typeof missing>()
      for (const one of missing) {
        const code = one.sign.codePointAt(0) ?? 0
        const claims = ({ ranges }: Slice) => ranges.some(([from, to]) => from <= code && code <= to)
        const index = slices.findIndex((slice, at) => at >= one.next && claims(slice))
        const slice = slices[index]
        if (slice) wanted.set(slice, [...(wanted.get(slice) ?? []), { ...one, next: index + 1 }])
      }
      missing = []
      for (const [slice, signs] of wanted) {
        const bytes = await cut(slice, signs.map(({ sign }) => sign).join(''), weight)
        const has = signsOf(bytes)
        const name = `${slice.file} ${weight} ${round}`
        const found = signs.filter(({ sign }) => has.has(sign.codePointAt(0) ?? 0))
        for (const { sign } of found) names.set(weight + sign, name)
        if (found.length > 0) fonts.push({ name, bytes })
        missing.push(...signs.filter(one => !found.includes(one)))
      }
    }
  }
  return { fonts, fontOf: (sign, weight) => names.get(weight + sign) ?? null }
}

/** A font of one weight that has those signs of a slice and no others. */
async function cut({ family, file }: Slice, signs: string, weight: Weight): Promise<Buffer> {
  const whole = readFileSync(require.resolve(`@fontsource-variable/${family}/files/${file}`))
  const variationAxes = { wght: WEIGHTS[weight] }
  return await subsetFont(whole, signs, { targetFormat: 'truetype', variationAxes })
}

/** Code points that a font has; one that was left with none has not even a table of them. */
function signsOf(bytes: Buffer): Set<number> {
  const font = create(bytes)
  if (!('characterSet' in font)) return new Set()
  try {
    return new Set(font.characterSet)
  } catch {
    return new Set()
  }
}

function readSlices(family: Family): Slice[] {
  const path = require.resolve(`@fontsource-variable/${family}/unicode.json`)
  const all = Object.entries(JSON.parse(readFileSync(path, 'utf8')) as Record<string, string>)
  // Latin first: its file has the digits and signs that others only touch.
  all.sort(([a], [b]) => Number(b === 'latin') - Number(a === 'latin'))
  return all.map(([name, ranges]) => ({
    family,
    file: `${family}-${name.replaceAll(/[[\]]/g, '')}-wght-normal.woff2`,
    ranges: ranges.split(',').map((range): [number, number] => {
      const [from = '', to = from] = range.replace('U+', '').split('-')
      return [Number.parseInt(from, 16), Number.parseInt(to, 16)]
    }),
  }))
}
