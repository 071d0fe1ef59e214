import { QueryClientProvider, useQuery } from '@tanstack/react-query'
import { Outlet, useLocation } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { settingsQuery } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { useSession } from '../session/session.ts'
import { useDocumentTitle } from '../use-document-title.ts'
import { BackToTop } from './BackToTop.tsx'
import { Header } from './Header.tsx'
import classes from './Shell.module.css'
import { SideBar } from './SideBar.tsx'
import { VerifyBanner } from './VerifyBanner.tsx'

const MobileMenu = lazy(() => import('./MobileMenu.tsx').then(module => ({ default: module.MobileMenu })))
const CommandPalette = lazy(() =>
  import('./CommandPalette.tsx').then(module => ({ default: module.CommandPalette })),
)
const MAIN_ID = 'main'

/** The frame around every page but sign-in: menu, header, banner, and the page itself. */
export function Shell() {
  return (
    <QueryClientProvider client={queryClient}>
      <Frame />
    </QueryClientProvider>
  )
}

function Frame() {
  const { t } = useTranslation('common')
  const { pathname } = useLocation()
  const { user } = useSession()
  const { data: settings } = useQuery(settingsQuery)
  const brand = settings?.brand.name ?? t('brand')
  const [menuOpened, setMenuOpened] = useState(false)
  const [paletteAsked, askForPalette] = usePalette()

  useDocumentTitle(pathname, brand)
  const main = useFocusOnChange(pathname)

  return (
    <div className={classes.shell}>
      <a href={`#${MAIN_ID}`} className={classes.skip}>
        {t('shell.skip')}
      </a>
      <SideBar brand={brand} />
      <div className={classes.body}>
        <Header
          brand={brand}
          docsUrl={settings?.brand.docs_url}
          onMenu={() => setMenuOpened(true)}
          onPalette={askForPalette}
        />
        {user && !user.emailVerified && <VerifyBanner user={user} mailbox={settings?.mailbox ?? false} />}
        <main ref={main} id={MAIN_ID} tabIndex={-1} className={classes.main}>
          <Outlet />
        </main>
      </div>
      <BackToTop />
      <Suspense>
        {menuOpened && <MobileMenu brand={brand} onClose={() => setMenuOpened(false)} />}
        {paletteAsked > 0 && <CommandPalette asked={paletteAsked} />}
      </Suspense>
    </div>
  )
}

/** Moves the focus to the page when another one is opened, so that a screen reader goes on from there. */
function useFocusOnChange(pathname: string) {
  const main = useRef<HTMLElement>(null)
  const seen = useRef(pathname)
  useEffect(() => {
    if (seen.current === pathname) return
    seen.current = pathname
    main.current?.focus({ preventScroll: true })
  }, [pathname])
  return main
}

/** Counts how often the palette was asked for: by Ctrl+K or Cmd+K, or by the button. Its code loads with the first. */
function usePalette(): [number, () => void] {
  const [asked, setAsked] = useState(0)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey) return
      event.preventDefault()
      setAsked(count => count + 1)
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  return [asked, () => setAsked(count => count + 1)]
}
