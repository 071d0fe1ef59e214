import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'

const SCRIPT = readFileSync(resolve(import.meta.dirname, '../../public/first-paint.js'), 'utf8')

/** How often the page was loaded again, as it counts that itself. */
const reloads = () => sessionStorage.getItem('berth.reloads')

beforeAll(() => {
  Object.defineProperty(document, 'currentScript', { value: { dataset: {} }, configurable: true })
  vi.stubGlobal('matchMedia', () => ({ matches: false }))
  // As the browser runs it, before anything else of the page.
  new Function(SCRIPT)()
  Reflect.deleteProperty(document, 'currentScript')
  vi.unstubAllGlobals()
})
// It is loaded again a moment later, which no test waits for.
beforeEach(() => vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  sessionStorage.clear()
})

function lose(element: HTMLElement): void {
  document.head.append(element)
  element.dispatchEvent(new Event('error'))
  element.remove()
}

const script = (src: string) => Object.assign(document.createElement('script'), { type: 'text/lost', src })
const link = (rel: string, href: string) => Object.assign(document.createElement('link'), { rel, href })

test.each([
  ['a script', () => script('/assets/index.js')],
  ['a style sheet', () => link('stylesheet', '/assets/index.css')],
] as const)('%s of ours that is lost loads the page again', (_, made) => {
  lose(made())
  expect(reloads()).toBe('1')
})

test.each([
  ['a script of a payment platform', () => script('https://js.stripe.example/v3/')],
  ['a style sheet from elsewhere', () => link('stylesheet', 'https://fonts.example/a.css')],
  ['what is only fetched ahead', () => link('preload', '/locales/en/common.json')],
  ['a picture', () => Object.assign(document.createElement('img'), { src: '/avatar.png' })],
] as const)('[R2.22] %s that is lost keeps the page as it is', (_, made) => {
  lose(made())
  expect(reloads()).toBeNull()
})
