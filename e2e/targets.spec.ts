import { expect, type Page, test } from '@playwright/test'
import { giveAxe } from './looks.ts'
import { smallTargets } from './targets.ts'

// Goal: nothing that axe would find too small for fingers is left out by what is not asked of it. Method: pages of a few buttons
// each, of which those that axe has something against come again and again.

const SMALL = 'width: 16px; height: 16px; padding: 0; border: 0; position: absolute'
const LARGE = 'width: 30px; height: 30px; padding: 0; border: 0; position: absolute'
const at = (style: string, left: number, top: number, id = 'one') =>
  `<button id="${id}" style="${style}; left: ${left}px; top: ${top}px" aria-label="${id}"></button>`

const GOOD: Record<string, string> = {
  'large ones side by side': at(LARGE, 0, 0) + at(LARGE, 30, 0, 'two'),
  'a small one alone': at(SMALL, 100, 100) + at(LARGE, 200, 100, 'two'),
  'small ones with room around them': at(SMALL, 100, 100) + at(SMALL, 124, 100, 'two'),
  'a small one in a line of text': '<p>It is <a href="/x">so</a> <a href="/y">it is</a> for all of them.</p>',
}
const BAD: Record<string, string> = {
  'small ones beside each other': at(SMALL, 100, 100) + at(SMALL, 116, 100, 'two'),
  'a small one beside a large one': at(SMALL, 100, 100) + at(LARGE, 116, 95, 'two'),
  'a large one under another': at(LARGE, 100, 100) + at(LARGE, 115, 110, 'two'),
  'what a role makes one': `<div role="button" tabindex="0" style="${SMALL}; left: 90px; top: 100px">a</div>${at(SMALL, 106, 100)}`,
}

test('[B13] targets that are large enough, or have room around them, are good each time', async ({
  page,
}) => {
  for (const [name, body] of [...Object.entries(GOOD), ...Object.entries(GOOD)])
    expect(await smallOn(page, body), name).toEqual([])
})

test('[B13] targets that are too small are found each time, also after good ones', async ({ page }) => {
  expect(await smallOn(page, Object.values(GOOD).join(''))).toEqual([])
  for (const [name, body] of [...Object.entries(BAD), ...Object.entries(BAD)])
    expect(await smallOn(page, body), name).not.toEqual([])
})

async function smallOn(page: Page, body: string): Promise<string[]> {
  await page.setContent(
    `<!doctype html><html lang="en"><title>t</title><body style="margin: 40px">${body}</body></html>`,
  )
  await giveAxe(page)
  return await smallTargets(page)
}
