import { mkdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { AxeBuilder } from '@axe-core/playwright'
import { expect, type Page } from '@playwright/test'

/** Screenshots of every page that a walk stops at; `BERTH_SCREENSHOTS` names another folder. */
const SHOTS =
  process.env.BERTH_SCREENSHOTS ?? fileURLToPath(new URL('../test-results/looks/', import.meta.url))
const SIZES = [
  { width: 1_440, height: 900 },
  { width: 390, height: 844 },
] as const
const THEMES = ['light', 'dark'] as const

/**
 * Looks at a page in both themes: no axe violation (B13), nothing wider than the screen, and a picture of it at
 * both sizes. The page is left as it was found: light, and wide.
 * @param page The page, loaded.
 * @param name What the pictures are called.
 */
export async function lookAt(page: Page, name: string): Promise<void> {
  await mkdir(SHOTS, { recursive: true })
  for (const theme of THEMES) {
    await page.evaluate(scheme => {
      document.documentElement.setAttribute('data-mantine-color-scheme', scheme)
    }, theme)
    for (const size of SIZES) {
      await page.setViewportSize(size)
      const shot = `${SHOTS}/${name}-${theme}-${size.width}.png`
      await page.screenshot({ path: shot, animations: 'disabled' })
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
      expect(
        overflow,
        `${name} in ${theme} at ${size.width} px is wider than the screen`,
      ).toBeLessThanOrEqual(0)
      const { violations } = await new AxeBuilder({ page })
        .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'])
        .analyze()
      const found = violations.map(
        ({ id, nodes }) => `${id}: ${nodes.map(node => node.target.join(' ')).join(', ')}`,
      )
      expect.soft(found, `axe on ${name} in ${theme} at ${size.width} px`).toEqual([])
    }
  }
  await page.evaluate(() => document.documentElement.setAttribute('data-mantine-color-scheme', 'light'))
  await page.setViewportSize(SIZES[0])
}
