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
      const { overflow, violations } = await look(page, theme)
      const where = `${name} in ${theme} at ${size.width} px`
      expect(overflow, `${where} is wider than the screen`).toBeLessThanOrEqual(0)
      expect.soft(violations, `axe on ${where}`).toEqual([])
      if (PICTURES !== undefined) await takePicture(page, `${name}-${theme}-${size.width}.png`)
    }
  }
  await page.evaluate(() => document.documentElement.setAttribute('data-mantine-color-scheme', 'light'))
  await page.setViewportSize(SIZES[0])
}

/** Switches the theme, waits until the page stands still, and says what is wrong with it. */
async function look(page: Page, theme: Theme) {
  return await page.evaluate(
    async ({ scheme, tags }) => {
      const { axe } = window
      if (axe === undefined) throw new Error('The page lost its axe: it was loaded again meanwhile.')
      document.documentElement.setAttribute('data-mantine-color-scheme', scheme)
      // A page that has just become narrow renders again, and what then moves is looked at where it ends.
      await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)))
      for (const animation of document.getAnimations()) {
        if (animation.effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY) animation.finish()
      }
      // The dark theme is other colours on the same elements, so only the rules about colours say anything new.
      const ofColours = axe.getRules(['cat.color']).filter(rule => rule.tags.some(tag => tags.includes(tag)))
      const runOnly: Axe.RunOnly =
        scheme === 'light'
          ? { type: 'tag', values: tags }
          : { type: 'rule', values: ofColours.map(({ ruleId }) => ruleId) }
      const found = await axe.run({ runOnly, resultTypes: ['violations'] })
      return {
        overflow: document.documentElement.scrollWidth - window.innerWidth,
        violations: found.violations.map(
          ({ id, nodes }) => `${id}: ${nodes.map(node => node.target.join(' ')).join(', ')}`,
        ),
      }
    },
    { scheme: theme, tags: RULES },
  )
}

async function takePicture(page: Page, file: string): Promise<void> {
  if (PICTURES === undefined) return
  await mkdir(PICTURES, { recursive: true })
  await page.screenshot({ path: `${PICTURES}/${file}`, animations: 'disabled' })
}
