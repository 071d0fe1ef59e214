import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, type Page } from '@playwright/test'
import type Axe from 'axe-core'

/** Where pictures of every page go that a walk stops at; without it none are taken. */
const PICTURES = process.env.BERTH_SCREENSHOTS
const SIZES = [
  { width: 1_440, height: 900 },
  { width: 390, height: 844 },
] as const
const THEMES = ['light', 'dark'] as const
type Theme = (typeof THEMES)[number]
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

/** A page is given axe by its text, since Berth's policy lets no other script in. */
const axeText = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/**
 * How texts looked whose contrast axe found good, by theme: see `lookOf` below. What looks the same has the same
 * contrast, on whatever page, so it is measured once.
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
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axeText)
  for (const size of SIZES) {
    await page.setViewportSize(size)
    for (const theme of THEMES) {
      // The other theme is other colours on the same elements, so only the rules about colours say anything new. Those
      // are asked about every text once, where it stands; after that about what looks as nothing did before.
      const structure = theme === 'light'
      const everyText = structure && size === SIZES[0]
      const { overflow, violations, good } = await look(page, { theme, structure, everyText })
      for (const text of good) seen[theme].add(text)
      const where = `${name} in ${theme} at ${size.width} px`
      expect(overflow, `${where} is wider than the screen`).toBeLessThanOrEqual(0)
      expect.soft(violations, `axe on ${where}`).toEqual([])
      if (PICTURES !== undefined) await takePicture(page, `${name}-${theme}-${size.width}.png`)
    }
  }
  await page.evaluate(() => document.documentElement.setAttribute('data-mantine-color-scheme', 'light'))
  await page.setViewportSize(SIZES[0])
}

interface Question {
  theme: Theme
  /** Whether the rules about anything else than colours are asked, too. */
  structure: boolean
  /** Whether the contrast of every text is asked, and not only of those whose look is new. */
  everyText: boolean
}

/** Switches the theme, waits until the page stands still, and says what is wrong with it. */
async function look(page: Page, question: Question) {
  return await page.evaluate(
    async ({ theme, structure, everyText, tags, known }) => {
      const { axe } = window
      if (axe === undefined) throw new Error('The page lost its axe: it was loaded again meanwhile.')
      document.documentElement.setAttribute('data-mantine-color-scheme', theme)
      // A page that has just become narrow renders again, and what then moves is looked at where it ends.
      await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)))
      for (const animation of document.getAnimations()) {
        if (animation.effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY) animation.finish()
      }
      const ofColours = axe
        .getRules(['cat.color'])
        .filter(rule => rule.tags.some(tag => tags.includes(tag)))
        .map(({ ruleId }) => ruleId)
      const found: Axe.Result[] = []
      if (structure) {
        const rules = everyText ? {} : Object.fromEntries(ofColours.map(id => [id, { enabled: false }]))
        const runOnly: Axe.RunOnly = { type: 'tag', values: tags }
        found.push(...(await axe.run({ runOnly, rules, resultTypes: ['violations'] })).violations)
      }
      const good: string[] = []
      const texts = everyText ? [] : newTexts(new Set(known))
      if (texts.length > 0) {
        const runOnly: Axe.RunOnly = { type: 'rule', values: ofColours }
        const { violations, passes } = await axe.run({ include: texts }, { runOnly, elementRef: true })
        found.push(...violations)
        const measured = passes.flatMap(({ nodes }) => nodes.map(({ element }) => element))
        good.push(...measured.flatMap(element => lookOf(element) ?? []))
      }
      return {
        overflow: document.documentElement.scrollWidth - window.innerWidth,
        violations: found.map(
          ({ id, nodes }) => `${id}: ${nodes.map(node => node.target.join(' ')).join(', ')}`,
        ),
        good,
      }

      /** One of each look that is not known. */
      function newTexts(looks: Set<string>): Element[] {
        return [...document.body.querySelectorAll('*')].filter(element => {
          const isText =
            element.matches('input, textarea, select') ||
            [...element.childNodes].some(
              node => node.nodeType === Node.TEXT_NODE && node.nodeValue?.trim() !== '',
            )
          if (!isText || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
            return false
          const text = lookOf(element)
          if (text === undefined) return true
          if (looks.has(text)) return false
          looks.add(text)
          return true
        })
      }

      /**
       * All that contrast comes from: letters, and what shines through behind them up to the first ground that nothing
       * does. Nothing, where the text or something between has a place of its own, and may lie over anything.
       */
      function lookOf(element: Element | undefined): string | undefined {
        if (element === undefined) return undefined
        const own = getComputedStyle(element)
        const off =
          element.closest(':disabled, [aria-disabled="true"], [aria-hidden="true"], [inert]') !== null
        const parts = [own.color, own.fontSize, own.fontWeight, own.textShadow, own.filter, String(off)]
        let isSolid = false
        for (let behind: Element | null = element; behind !== null; behind = behind.parentElement) {
          const { backgroundColor, backgroundImage, opacity, position } = getComputedStyle(behind)
          parts.push(opacity)
          if (isSolid) continue
          parts.push(backgroundColor, backgroundImage)
          isSolid = /^rgb\(/.test(backgroundColor)
          if (!isSolid && (position === 'absolute' || position === 'fixed')) return undefined
        }
        return parts.join(' ')
      }
    },
    { ...question, tags: RULES, known: [...seen[question.theme]] },
  )
}

async function takePicture(page: Page, file: string): Promise<void> {
  if (PICTURES === undefined) return
  await mkdir(PICTURES, { recursive: true })
  await page.screenshot({ path: `${PICTURES}/${file}`, animations: 'disabled' })
}
