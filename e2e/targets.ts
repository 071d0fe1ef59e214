import type { Page } from '@playwright/test'
import type Axe from 'axe-core'

/**
 * Marks of doubtful targets that axe found large enough, or far enough from others: what is the same, beside the same, is
 * that on whatever page.
 */
const known = new Set<string>()

/**
 * Asks whether what fingers meet is large enough, or has room around it (WCAG 2.5.8, axe's `target-size`). axe makes a grid of
 * the whole page for this one question, which takes ten times as long as all its others together. Nearly all targets are
 * plainly good: 24 pixels each way with nothing else for fingers on them, or nothing of that kind within 24 pixels around
 * them. Only where others are left that axe has not judged before, it is asked, about all of the page.
 * @param page The page, with axe in it, standing still.
 * @returns The targets that axe finds too small.
 */
export async function smallTargets(page: Page): Promise<string[]> {
  const unknown = (await page.evaluate(doubtfulTargets)).filter(mark => !known.has(mark))
  if (unknown.length === 0) return []
  const small = await page.evaluate(askAxe)
  if (small.length === 0) for (const mark of unknown) known.add(mark)
  return small
}

/** Runs in the page. */
async function askAxe(): Promise<string[]> {
  const { axe } = window
  if (axe === undefined) throw new Error('The page lost its axe: it was loaded again meanwhile.')
  const runOnly: Axe.RunOnly = { type: 'rule', values: ['target-size'] }
  const { violations } = await axe.run({ runOnly, resultTypes: ['violations'] })
  return violations.flatMap(({ nodes }) => nodes.map(({ target }) => target.join(' ')))
}

/** Runs in the page: a mark of each target that is not plainly good. */
function doubtfulTargets(): string[] {
  const SIDE_PX = 24
  const NATIVE =
    'a[href], button, input:not([type="hidden"]), select, textarea, summary, iframe, [contenteditable]'
  // The roles that axe takes for something to be met by a finger.
  const ROLES = [
    'button',
    'checkbox',
    'combobox',
    'gridcell',
    'link',
    'listbox',
    'menuitem',
    'menuitemcheckbox',
  ]
    .concat([
      'menuitemradio',
      'option',
      'progressbar',
      'radio',
      'scrollbar',
      'searchbox',
      'slider',
      'spinbutton',
    ])
    .concat(['switch', 'tab', 'textbox', 'treeitem'])
  const OTHERS = ROLES.map(role => `[role="${role}"][tabindex]`).join(', ')
  const all = [...document.body.querySelectorAll<HTMLElement>(`${NATIVE}, ${OTHERS}`)]
  const targets = all
    .filter(one => !one.matches(':disabled') && one.checkVisibility({ visibilityProperty: true }))
    .map(element => ({ element, box: element.getBoundingClientRect() }))
  return targets.flatMap(target => {
    const { width, height } = target.box
    const isLarge = width >= SIDE_PX && height >= SIDE_PX
    const near = targets.filter(
      other => other !== target && gapOf(target.box, other.box) < (isLarge ? 0 : SIDE_PX),
    )
    return near.length === 0 ? [] : [markOf(target, near)]
  })

  /** How far two boxes are from each other, in the direction in which they are further; below zero where they overlap. */
  function gapOf(one: DOMRect, other: DOMRect): number {
    const across = Math.max(one.left, other.left) - Math.min(one.right, other.right)
    return Math.max(across, Math.max(one.top, other.top) - Math.min(one.bottom, other.bottom))
  }

  /** What axe's answer comes from: the target, the text that it may be a word of, and where what is near it lies. */
  function markOf(target: (typeof targets)[number], near: typeof targets): string {
    const { parentElement } = target.element
    const isWord = [...(parentElement?.childNodes ?? [])].some(
      node => node.nodeType === Node.TEXT_NODE && node.nodeValue?.trim() !== '',
    )
    const { display } = getComputedStyle(target.element)
    const others = near.map(({ element, box }) => {
      const [left, top] = [box.left - target.box.left, box.top - target.box.top].map(Math.round)
      return `${nameOf(element, box)} at ${left},${top}${element.contains(target.element) ? ' around' : ''}`
    })
    const around = `${parentElement?.tagName}.${parentElement?.getAttribute('class')} ${isWord}`
    return [nameOf(target.element, target.box), display, around, ...others].join(' | ')
  }

  function nameOf(element: HTMLElement, { width, height }: DOMRect): string {
    const parts = ['class', 'role', 'type', 'tabindex'].map(name => element.getAttribute(name))
    return `${element.tagName}.${parts.join('.')} ${Math.round(width)}x${Math.round(height)}`
  }
}
