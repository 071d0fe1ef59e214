import { expect, test } from 'vitest'
import { loadPage } from './load-page.ts'

test.each([0, 1, 5])('[R2.9] a page that fails to load %i times comes all the same', async failures => {
  let tries = 0
  const load = async () => {
    tries += 1
    if (tries <= failures) throw new TypeError('Failed to fetch')
    return 'the page'
  }
  expect(await loadPage(load, 0)).toBe('the page')
  expect(tries).toBe(failures + 1)
})

test('[R2.9] after five more tries the failure is the answer', async () => {
  let tries = 0
  const load = async () => {
    tries += 1
    throw new TypeError('Failed to fetch')
  }
  await expect(loadPage(load, 0)).rejects.toThrow('Failed to fetch')
  expect(tries).toBe(6)
})
