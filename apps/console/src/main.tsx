import './app/zod-setup.ts'
import './app/theme/styles.ts'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { loadPage } from './app/load-page.ts'
import { Providers } from './app/Providers.tsx'
import { guestPage } from './app/pages.ts'
import { start } from './app/start.ts'

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no #root.')

// Signing in does without the router and everything behind it.
const entry = guestPage(location.pathname)
if (entry && entry.path !== location.pathname) {
  history.replaceState(null, '', entry.path + location.search + location.hash)
}
const [app] = await Promise.all([
  entry
    ? loadPage(() => import('./app/GuestApp.tsx')).then(({ App }) => <App entry={entry} />)
    : loadPage(() => import('./app/ConsoleApp.tsx')).then(({ App }) => <App />),
  start(),
])
createRoot(root).render(
  <StrictMode>
    <Providers>{app}</Providers>
  </StrictMode>,
)
