import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, type Page } from '@playwright/test'
import type Axe from 'axe-core'
import { smallTargets } from './targets.ts'

/** Where pictures of every page go that a walk stops at; without it none are taken. */
const PICTURES = process.env.BERTH_SCREENSHOTS
const SIZES = [
  { width: 1_440, height: 900 },
  { width: 390, height: 844 },
] as const
type Theme = 'light' | 'dark'
const [WIDE, NARROW] = SIZES
/** What is looked at, in an order that changes one thing at a time. */
const LOOKS = [
  { theme: 'light', size: WIDE, structure: true, standing: true },
  { theme: 'dark', size: WIDE, structure: false, standing: false },
  { theme: 'dark', size: NARROW, structure: false, standing: false },
  { theme: 'light', size: NARROW, structure: true, standing: false },
] as const
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

/** A page is given axe by its text, since Berth's policy lets no other script in. */
const axeText = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/**
 * Marks of texts whose contrast axe found good, by theme: see `lookOf` and `standingOf` below. What looks the same has
 * the same contrast, on whatever page, so it is measured once.
 */
const seen: Record<Theme, Set<string>> = { light: new Set(), dark: new Set() }

declare global {
  interface Window {
    axe?: typeof Axe
  }
}

/**
 * Looks at a page in both themes: no axe violation (B13), and nothing wider than the screen, at both sizes. The
 * page is left as it was found: light, and wide.
 * @param page The page, loaded.
 * @param name What its pictures are called.
 */
export async function lookAt(page: Page, name: string): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in window))) await giveAxe(page)
  for (const { theme, size, structure, standing } of LOOKS) {
    await page.setViewportSize(size)
    // The other theme is other colours on the same elements, so only the rules about colours say anything new. Those are
    // asked about each text that stands on something new, and elsewhere about what looks as nothing did before, too.
    const known = [...seen[theme]].join('\n')
    const { overflow, violations, marks } = await look(page, { theme, structure, standing, known })
    for (const mark of marks) seen[theme].add(mark)
    if (structure) violations.push(...(await smallTargets(page)).map(target => `target-size: ${target}`))
    const where = `${name} in ${theme} at ${size.width} px`
    expect(overflow, `${where} is wider than the screen`).toBeLessThanOrEqual(0)
    expect.soft(violations, `axe on ${where}`).toEqual([])
    if (PICTURES !== undefined) await takePicture(page, `${name}-${theme}-${size.width}.png`)
  }
  await page.setViewportSize(WIDE)
}

/**
 * Gives a page its axe. The browser keeps what it compiled of a text that is run so, for the next page.
 * @param page The page, which loses it where it is loaded again.
 */
export async function giveAxe(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('Runtime.evaluate', { expression: axeText })
  await session.detach()
}

/** What of an element's style its contrast and that of what it holds come from. */
interface Style {
  color: string
  opacity: string
  ground: string
  isSolid: boolean
  isPlaced: boolean
  /** Shows nothing beyond itself. */
  isCut: boolean
}

interface Question {
  theme: Theme
  /** Whether the rules about anything else than colours are asked, too; but for that about sizes (see `targets.ts`). */
  structure: boolean
  /** Whether a text that looks like another one is measured where it stands on something else. */
  standing: boolean
  /** The marks of texts that are known to be good, a line each. */
  known: string
}

/** Switches the theme, waits until the page stands still, and says what is wrong with it. */
async function look(page: Page, question: Question) {
  return await page.evaluate(
    async ({ theme, structure, standing, known, tags }) => {
      const { axe } = window
      if (axe === undefined) throw new Error('The page lost its axe: it was loaded again meanwhile.')
      document.documentElement.setAttribute('data-mantine-color-scheme', theme)
      // A page that has just become narrow renders again, and what then moves is looked at where it ends.
      await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)))
      for (const animation of document.getAnimations()) {
        if (animation.effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY) animation.finish()
      }
      const OFF = ':disabled, [aria-disabled="true"], [aria-hidden="true"], [inert]'
      const NO_GROUND = 'rgba(0, 0, 0, 0) none'
      const CONTRAST_MIN = 4.5
      const styles = new Map<Element, Style>()
      const ofColours = axe
        .getRules(['cat.color'])
        .filter(rule => rule.tags.some(tag => tags.includes(tag)))
        .map(({ ruleId }) => ruleId)
      const found: string[] = []
      if (structure) {
        const rules = Object.fromEntries([...ofColours, 'target-size'].map(id => [id, { enabled: false }]))
        const runOnly: Axe.RunOnly = { type: 'tag', values: tags }
        const { violations } = await axe.run({ runOnly, rules, resultTypes: ['violations'] })
        for (const { id, nodes } of violations)
          found.push(`${id}: ${nodes.map(node => node.target.join(' ')).join(', ')}`)
      }
      const marks: string[] = []
      const texts: Element[] = []
      for (const text of newTexts(new Set(known.split('\n')))) {
        if (isPlainlyGood(text)) marks.push(...marksOf(text))
        else texts.push(text)
      }
      if (texts.length > 0) {
        const runOnly: Axe.RunOnly = { type: 'rule', values: ofColours }
        const options = { runOnly, elementRef: true, selectors: false }
        const { violations, passes, incomplete } = await axe.run({ include: texts }, options)
        for (const { id, nodes } of violations)
          found.push(`${id}: ${nodes.map(({ html }) => html).join(', ')}`)
        for (const element of contrasts(passes)) marks.push(...marksOf(element))
        // What axe cannot tell, it cannot tell of what is just the same.
        for (const element of contrasts(incomplete)) marks.push(...[standingOf(element) ?? []].flat())
      }
      const overflow = document.documentElement.scrollWidth - window.innerWidth
      return { overflow, violations: found, marks }

      function contrasts(results: Axe.Result[]): Element[] {
        const nodes = results.filter(({ id }) => id === 'color-contrast').flatMap(({ nodes }) => nodes)
        return nodes.flatMap(({ element }) => element ?? [])
      }

      /** One of each kind that is not known. */
      function newTexts(marks: Set<string>): Element[] {
        return [...document.body.querySelectorAll('*')].filter(element => {
          const isText =
            element.matches('input, textarea, select') ||
            [...element.childNodes].some(
              node => node.nodeType === Node.TEXT_NODE && node.nodeValue?.trim() !== '',
            )
          if (!isText || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
            return false
          // Nothing is asked of the contrast of these.
          if (element.closest(OFF) !== null || isNoText(element)) return false
          // Where no scrolling leads; what it would look like is asked with the other looks.
          if (standing && isBeforePage(element)) return false
          const own = standing ? [standingOf(element) ?? []].flat() : marksOf(element)
          const isNew = !own.some(mark => marks.has(mark))
          for (const mark of own) marks.add(mark)
          return isNew
        })
      }

      /** Without letters, or cut to a pixel for screen readers: axe asks nothing of these, so they would be new for ever. */
      function isNoText(element: Element): boolean {
        if (element.matches('[type="checkbox"], [type="radio"]')) return true
        for (let around: Element | null = element; around !== null; around = around.parentElement) {
          if (!styleOf(around).isCut) continue
          const { width, height } = around.getBoundingClientRect()
          if (width <= 1 && height <= 1) return true
        }
        return false
      }

      function isBeforePage(element: Element): boolean {
        const { right, bottom } = element.getBoundingClientRect()
        return right + window.scrollX <= 0 || bottom + window.scrollY <= 0
      }

      /**
       * Whether a text is opaque, on one opaque colour, and stands out from it as much as small letters must. A question to
       * axe costs a tenth of a second, however few texts it is about, and of nearly all that are new this is so.
       */
      function isPlainlyGood(element: Element): boolean {
        const { filter, textShadow } = getComputedStyle(element)
        if (filter !== 'none' || textShadow !== 'none') return false
        for (let around: Element | null = element; around !== null; around = around.parentElement) {
          if (styleOf(around).opacity !== '1') return false
        }
        // Out of sight it stands on its ancestors, as far as anybody can tell.
        const stacks = stacksUnder(element) ?? (standing ? [] : [ancestorsOf(element)])
        return stacks.length > 0 && stacks.every(stack => standsOut(element, stack))
      }

      function standsOut(element: Element, stack: Element[]): boolean {
        const ground = stack.map(styleOf).find(({ ground }) => ground !== NO_GROUND)
        if (ground === undefined || !ground.ground.endsWith(' none')) return false
        const [text, under] = [styleOf(element).color, ground.ground.slice(0, -' none'.length)].map(luminance)
        if (text === undefined || under === undefined) return false
        return (Math.max(text, under) + 0.05) / (Math.min(text, under) + 0.05) >= CONTRAST_MIN
      }

      /** None where something on the way to an opaque ground has a place of its own. */
      function ancestorsOf(element: Element): Element[] {
        const stack: Element[] = []
        for (let behind: Element | null = element; behind !== null; behind = behind.parentElement) {
          stack.push(behind)
          if (styleOf(behind).isSolid) return stack
          if (styleOf(behind).isPlaced) return []
        }
        return []
      }

      /** What a finger goes through under it, at both ends. Undefined where it is out of sight; none where something lies over it. */
      function stacksUnder(element: Element): Element[][] | undefined {
        const stacks = endsOf(element)
        if (stacks.length === 0 || stacks.some(through => !through.includes(element))) return undefined
        const over = stacks.flatMap(through => through.slice(0, through.indexOf(element)))
        if (over.some(one => styleOf(one).ground !== NO_GROUND)) return []
        return stacks.map(through => through.slice(through.indexOf(element)))
      }

      /** By WCAG, of an opaque colour; undefined of any other. */
      function luminance(colour: string): number | undefined {
        const parts = /^rgb\((\d+), (\d+), (\d+)\)$/.exec(colour)?.slice(1)
        if (parts === undefined) return undefined
        const [red = 0, green = 0, blue = 0] = parts.map(part => {
          const share = Number(part) / 255
          return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
        })
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue
      }

      function endsOf(element: Element): Element[][] {
        const box = element.getClientRects()[0]
        if (box === undefined) return []
        return [box.left + 1, box.right - 1].map(x => document.elementsFromPoint(x, box.top + box.height / 2))
      }

      function marksOf(element: Element): string[] {
        return [lookOf(element) ?? [], standingOf(element) ?? []].flat()
      }

      /**
       * All that contrast comes from: letters, and what shines through behind them up to the first ground that nothing
       * does. Nothing, where the text or something between has a place of its own, and may lie over anything.
       */
      function lookOf(element: Element): string | undefined {
        const parts = lettersOf(element)
        let isSolid = false
        for (let behind: Element | null = element; behind !== null; behind = behind.parentElement) {
          const style = styleOf(behind)
          parts.push(style.opacity)
          if (isSolid) continue
          parts.push(style.ground)
          isSolid = style.isSolid
          if (!isSolid && style.isPlaced) return undefined
        }
        return markOf(parts)
      }

      /** Letters, and all that a finger would go through at both their ends. Nothing, where they are out of sight. */
      function standingOf(element: Element): string | undefined {
        const ends = endsOf(element)
        if (ends.length === 0) return undefined
        const parts = ['on', ...lettersOf(element)]
        for (const through of ends) {
          if (!through.includes(element)) return undefined
          for (const under of through) {
            const { color, opacity, ground } = styleOf(under)
            parts.push(`${under.tagName}.${under.getAttribute('class')}`, color, opacity, ground)
          }
        }
        return markOf(parts)
      }

      /** A short name of them: there are thousands, and each goes to every page. */
      function markOf(parts: string[]): string {
        let [one, two] = [0xdeadbeef, 0x41c6ce57]
        for (const part of parts.join('|')) {
          const code = part.charCodeAt(0)
          one = Math.imul(one ^ code, 2_654_435_761)
          two = Math.imul(two ^ code, 1_597_334_677)
        }
        return `${(one >>> 0).toString(36)}${(two >>> 0).toString(36)}`
      }

      function lettersOf(element: Element): string[] {
        const { color, fontSize, fontWeight, textShadow, filter } = getComputedStyle(element)
        return [color, fontSize, fontWeight, textShadow, filter]
      }

      /** Asked once of each element: a page's texts have most of what is behind them in common. */
      function styleOf(element: Element): Style {
        const kept = styles.get(element)
        if (kept !== undefined) return kept
        const { color, opacity, backgroundColor, backgroundImage, position, overflowX, clip } =
          getComputedStyle(element)
        const style = {
          color,
          opacity,
          ground: `${backgroundColor} ${backgroundImage}`,
          isSolid: /^rgb\(/.test(backgroundColor),
          isPlaced: position === 'absolute' || position === 'fixed',
          isCut: overflowX !== 'visible' || clip !== 'auto',
        }
        styles.set(element, style)
        return style
      }
    },
    { ...question, tags: RULES },
  )
}

async function takePicture(page: Page, file: string): Promise<void> {
  if (PICTURES === undefined) return
  await mkdir(PICTURES, { recursive: true })
  await page.screenshot({ path: `${PICTURES}/${file}`, animations: 'disabled' })
}
