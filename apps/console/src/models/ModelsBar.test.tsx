import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
} from '@tanstack/react-router'
import { render, screen } from '@testing-library/react'
import { expect, test } from 'vitest'
import { PAGES } from '../app/pages.ts'
import { MENU } from '../app/shell/menu.ts'
import { renderInPage } from '../component-fixture.tsx'
import { ModelsBar } from './ModelsBar.tsx'

/** The pages of the specification that the bar leads to. */
const OF_MODELS = ['/model-endpoints', '/chat-model', '/multi-modal', '/image-model', '/video-model']

test('[R2.3] the bar leads to the pages about models that are built, and says which one this is', async () => {
  await renderInPage(() => null, { namespaces: ['models'] })
  const root = createRootRoute({ component: ModelsBar })
  const routes = ['/model-endpoints', '/chat-model', '/explore'].map(path =>
    createRoute({ getParentRoute: () => root, path }),
  )
  const router = createRouter({
    routeTree: root.addChildren(routes),
    history: createMemoryHistory({ initialEntries: ['/chat-model'] }),
  })
  await router.load()
  render(<RouterProvider router={router as never} />)
  const links = await screen.findAllByRole('link')
  expect(links.map(link => [link.textContent, link.getAttribute('href')])).toEqual([
    ['Catalogue', '/model-endpoints'],
    ['Chat', '/chat-model'],
  ])
  expect(screen.getByRole('link', { current: 'page' }).textContent).toBe('Chat')
})

test('[R2.12] of the pages about models the menu names the catalogue, first of all', () => {
  const paths = MENU.flatMap(({ entries }) => entries.map(({ path }) => path as string))
  expect(paths[0]).toBe('/model-endpoints')
  expect(paths.filter(path => OF_MODELS.includes(path))).toEqual(['/model-endpoints'])
  expect(PAGES.map(({ path }) => path as string)).toContain('/model-endpoints')
})
