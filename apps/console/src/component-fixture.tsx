import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { MantineProvider } from '@mantine/core'
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router'
import { cleanup, configure, render, screen } from '@testing-library/react'
import i18next from 'i18next'
import type { FunctionComponent } from 'react'
import { initReactI18next } from 'react-i18next'
import { onTestFinished } from 'vitest'
import type { Namespace } from './app/i18n.ts'
import { parseSearch, stringifySearch } from './app/search.ts'
import { mantineTheme } from './app/theme/mantine-theme.ts'

const LOCALES = resolve(import.meta.dirname, '../public/locales/en')
const ERRORS = resolve(import.meta.dirname, '../../../packages/contract/locales/en/errors.json')

// What is looked for may come late on a computer that does much else; only what never comes meets this.
configure({ asyncUtilTimeout: 30_000 })

let computedStyle: typeof window.getComputedStyle

/**
 * jsdom lays nothing out, and takes a millisecond for each thing that is asked of a style. A text field that grows asks
 * for twenty at each keystroke, which was two fifths of what forms cost; it leaves it where its box has no size.
 */
function styleWithoutSizes(element: Element, pseudo?: string | null): CSSStyleDeclaration {
  return element instanceof HTMLTextAreaElement ? element.style : computedStyle(element, pseudo)
}

/** What of a browser jsdom does not have and Mantine asks for. */
function fillIn(): void {
  window.matchMedia ??= query =>
    ({
      matches: false,
      media: query,
      onchange: null,
      addEventListener: () => {},
      removeEventListener: () => {},
      addListener: () => {},
      removeListener: () => {},
      dispatchEvent: () => false,
    }) satisfies MediaQueryList
  window.ResizeObserver ??= class {
    observe() {}
    unobserve() {}
    disconnect() {}
  }
  // A text field that grows asks again once fonts are there.
  Object.defineProperty(document, 'fonts', { value: new EventTarget(), configurable: true })
  window.scrollTo = () => {}
  Element.prototype.scrollIntoView = () => {}
  if (window.getComputedStyle === styleWithoutSizes) return
  computedStyle = window.getComputedStyle.bind(window)
  window.getComputedStyle = styleWithoutSizes
}

/** The page that a component was rendered in. */
export interface Rendered {
  /** The path of its address, which changes when the component leads elsewhere. */
  path(): string
  /** The query string of its address, as a person sees it. */
  search(): string
  /** Goes to another address of the same page, as a link elsewhere would. */
  go(search: string): Promise<void>
}

/**
 * Draws a component as a page of the console draws it, until the test ends: the theme, the English texts, an address.
 * @param Component Without properties; wrap it in one that gives them.
 * @param options.namespaces The texts that it needs besides `common` and `errors`.
 * @param options.at The query string that the page is opened with.
 */
export async function renderInPage(
  Component: FunctionComponent,
  options: { namespaces?: readonly Namespace[]; at?: string } = {},
): Promise<Rendered> {
  onTestFinished(cleanup)
  fillIn()
  await startTexts(options.namespaces ?? [])
  const root = createRootRoute()
  const page = createRoute({ getParentRoute: () => root, path: '/page', component: Component })
  const history = createMemoryHistory({ initialEntries: [`/page${options.at ?? ''}`] })
  const router = createRouter({
    routeTree: root.addChildren([page]),
    history,
    parseSearch,
    stringifySearch,
  })
  await router.load()
  render(
    <MantineProvider theme={mantineTheme} env="test">
      <RouterProvider router={router as never} />
    </MantineProvider>,
  )
  await screen.findAllByText(() => true)
  return {
    path: () => history.location.pathname,
    search: () => history.location.search,
    go: async search => {
      history.push(`/page${search}`)
      await router.load()
    },
  }
}

async function startTexts(namespaces: readonly Namespace[]): Promise<void> {
  const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'))
  if (!i18next.isInitialized) {
    await i18next.use(initReactI18next).init({
      lng: 'en',
      defaultNS: 'common',
      interpolation: { escapeValue: false },
      returnNull: false,
      resources: {},
    })
  }
  // Another file of the same process may have begun with other texts, or left another language.
  i18next.addResourceBundle('en', 'common', read(resolve(LOCALES, 'common.json')))
  i18next.addResourceBundle('en', 'errors', read(ERRORS))
  for (const name of namespaces) {
    i18next.addResourceBundle('en', name, read(resolve(LOCALES, `${name}.json`)))
  }
  await i18next.changeLanguage('en')
}
