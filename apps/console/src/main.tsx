import './app/zod-setup.ts'
import './app/theme/styles.ts'
import { type ReactNode, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { InitFailure } from './app/InitFailure.tsx'
import { loadTexts } from './app/i18n.ts'
import { fetchParts } from './app/lazy-part.ts'
import { loadPage } from './app/load-page.ts'
import { Providers } from './app/Providers.tsx'
import type { PageEntry } from './app/page.ts'
import { guestPage, PAGES } from './app/pages.ts'
import { start } from './app/start.ts'
import { prepareToasts } from './app/toast-loader.ts'

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no #root.')

createRoot(root).render(
  <StrictMode>
    <Providers>{await loadApp().catch(() => <InitFailure />)}</Providers>
  </StrictMode>,
)
// What says that the network is gone cannot be fetched then, and neither can what floats.
const fetchTheRest = () => {
  prepareToasts()
  fetchParts()
}
if (document.readyState === 'complete') fetchTheRest()
else window.addEventListener('load', fetchTheRest, { once: true })
// public/first-paint.js loads the page again when a part of it is lost; from here on nothing is.
try {
  sessionStorage.removeItem('berth.reloads')
} catch {
  // Without storage there was nothing to count.
}

async function loadApp(): Promise<ReactNode> {
  // Signing in does without the router and everything behind it.
  const entry = guestPage(location.pathname)
  if (entry && entry.path !== location.pathname) {
    history.replaceState(null, '', entry.path + location.search + location.hash)
  }
  const started = start(pageAt(location.pathname)?.namespaces ?? [])
  const [app] = await Promise.all([entry ? loadGuestApp(entry, started) : loadConsoleApp(), started])
  return app
}

/**
 * With its page and its texts in hand, so that what is drawn first is that page; one that does not load says so itself.
 * @param started Asks for the texts of the page among others: they are there with it, or lost.
 */
async function loadGuestApp(entry: PageEntry, started: Promise<void>): Promise<ReactNode> {
  const texts = started.then(() => loadTexts(entry.namespaces))
  const [{ App }, page] = await Promise.all([
    loadPage(() => import('./app/GuestApp.tsx')),
    Promise.all([loadPage(entry.load), texts]).then(
      ([loaded]) => loaded,
      () => null,
    ),
  ])
  return <App entry={entry} loaded={page} />
}

async function loadConsoleApp(): Promise<ReactNode> {
  const { App, startPage } = await loadPage(() => import('./app/ConsoleApp.tsx'))
  startPage(pageAt(location.pathname))
  return <App />
}

function pageAt(path: string): PageEntry | null {
  return guestPage(path) ?? PAGES.find(page => page.path === path) ?? null
}
