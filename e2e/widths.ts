import { expect, type Page } from '@playwright/test'

/** From the narrowest screen that WCAG 1.4.10 asks for to one of 4k. */
const WIDTHS_PX = [320, 390, 768, 1_024, 1_440, 2_560, 3_840] as const
const HEIGHT_PX = 900

/**
 * Holds what a page shows at every width: nothing is wider than the screen, no part of it scrolls sideways but code, each
 * control lies within its card and is what a finger at its middle meets, and buttons show all of their words. Where a dialog is open that is meant
 * of the dialog. The page is left 1,440 px wide.
 * @param page The page, loaded.
 * @param name What it is called when it fails.
 */
export async function holdWidths(page: Page, name: string): Promise<void> {
  const wrong: string[] = []
  // What cannot be seen is laid out and meets fingers as ever, and is not drawn: up to 3.5 million pixels a time.
  await page.evaluate(() => document.documentElement.style.setProperty('opacity', '0'))
  for (const width of WIDTHS_PX) {
    await page.setViewportSize({ width, height: HEIGHT_PX })
    wrong.push(...(await page.evaluate(faultsOfPage)).map(fault => `${name} at ${width} px: ${fault}`))
  }
  await page.setViewportSize({ width: 1_440, height: HEIGHT_PX })
  await page.evaluate(() => document.documentElement.style.removeProperty('opacity'))
  expect.soft(wrong).toEqual([])
}

/** Runs in the page. */
async function faultsOfPage(): Promise<string[]> {
  const CONTROLS =
    'a[href], button, input:not([type="hidden"]), select, textarea, summary, [role="menuitem"], [role="option"]'
  const CARDS = 'section, fieldset, form, table, [role="dialog"], [role="menu"], nav, header, main'
  const SLACK_PX = 1
  // A page that has just become another width renders again.
  await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)))
  for (const animation of document.getAnimations()) {
    if (animation.effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY) animation.finish()
  }
  const faults: string[] = []
  const beyond = document.documentElement.scrollWidth - window.innerWidth
  if (beyond > 0) faults.push(`is ${beyond} px wider than the screen`)
  const top = [...document.querySelectorAll('[role="dialog"], [role="menu"]')].findLast(isSeen)
  for (const element of (top ?? document.body).querySelectorAll<HTMLElement>('*')) {
    if (!isSeen(element)) continue
    if (scrollsSideways(element)) faults.push(`${nameOf(element)} scrolls sideways`)
    if (element.matches('td') && element.scrollWidth > element.clientWidth + SLACK_PX)
      faults.push(`${nameOf(element)} sticks out of its cell`)
    if (!element.matches(CONTROLS) || element.matches('[tabindex="-1"]:not([role])')) continue
    element.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' })
    const box = element.getBoundingClientRect()
    for (let card = element.parentElement?.closest(CARDS); card; card = card.parentElement?.closest(CARDS)) {
      const around = card.getBoundingClientRect()
      // What has no box of its own, as a form whose parts stand in the page’s grid, holds nothing in.
      if (around.width === 0) continue
      if (box.left < around.left - SLACK_PX || box.right > around.right + SLACK_PX) {
        faults.push(`${nameOf(element)} sticks out of its ${card.tagName.toLowerCase()}`)
        break
      }
    }
    // A link in a text may go on in the next line.
    const { left, top, width, height } = element.getClientRects()[0] ?? box
    const met = document.elementFromPoint(left + width / 2, top + height / 2)
    const isIt =
      met !== null &&
      (element.contains(met) ||
        ('labels' in element && [...((element as HTMLInputElement).labels ?? [])].some(l => l.contains(met))))
    if (element.matches('button') && cutsItsWords(element))
      faults.push(`${nameOf(element)} shows part of its words`)
    if (!isIt) faults.push(`${nameOf(element)} is out of reach, under ${met ? nameOf(met) : 'the edge'}`)
  }
  return faults

  /** Not what is only said to screen readers, nor what waits to be focused above the page. */
  function isSeen(element: Element): boolean {
    const { width, height } = element.getBoundingClientRect()
    return (
      width > 1 &&
      height > 1 &&
      element.checkVisibility({ visibilityProperty: true, opacityProperty: false }) &&
      element.closest('[inert], [aria-hidden="true"], [href="#main"]') === null
    )
  }

  function cutsItsWords(button: HTMLElement): boolean {
    return [button, ...button.querySelectorAll<HTMLElement>('*')].some(
      part =>
        getComputedStyle(part).overflowX !== 'visible' && part.scrollWidth > part.clientWidth + SLACK_PX,
    )
  }

  function scrollsSideways(element: HTMLElement): boolean {
    // Lines of a log are as long as they were written, as those of a pre.
    const isAsWritten = element.matches('input, textarea, pre, [aria-label="Lines of the log"]')
    if (element.scrollWidth <= element.clientWidth + SLACK_PX || isAsWritten) return false
    return ['auto', 'scroll'].includes(getComputedStyle(element).overflowX)
  }

  function nameOf(element: Element): string {
    const words = element.getAttribute('aria-label') ?? element.textContent ?? ''
    return `${element.tagName.toLowerCase()} ${JSON.stringify(words.trim().slice(0, 40))}`
  }
}
