import { QueryClientProvider, useQuery } from '@tanstack/react-query'
import { Outlet, useLocation, useNavigate } from '@tanstack/react-router'
import { type RefObject, Suspense, useCallback, useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { settingsQuery } from '../../api/queries.ts'
import { queryClient } from '../../api/query-client.ts'
import { focusBack } from '../../ui/focus-back.ts'
import { loadAnalytics } from '../analytics.ts'
import { keep, readKept } from '../device-storage.ts'
import { lazyPart } from '../lazy-part.ts'
import { useNamedPage } from '../page-name.ts'
import { pageTitle } from '../page-title.ts'
import { ConfirmSignIn } from '../session/ConfirmSignIn.tsx'
import { useSession } from '../session/session.ts'
import { useDocumentTitle } from '../use-document-title.ts'
import { BackToTop } from './BackToTop.tsx'
import { ConnectionLine, useLostSince } from './ConnectionLine.tsx'
import { Header } from './Header.tsx'
import classes from './Shell.module.css'
import { SideBar } from './SideBar.tsx'
import type { ShellCommands } from './shell-commands.ts'
import type { Shortcut } from './shortcuts.ts'
import { isDialogOpen, useShortcuts } from './use-shortcuts.ts'
import { VerifyBanner } from './VerifyBanner.tsx'

const MobileMenu = lazyPart(() => import('./MobileMenu.tsx').then(module => module.MobileMenu))
const CommandPalette = lazyPart(() => import('./CommandPalette.tsx').then(module => module.CommandPalette))
const ShortcutSheet = lazyPart(() => import('./ShortcutSheet.tsx').then(module => module.ShortcutSheet))
const LogoutDialog = lazyPart(() => import('./LogoutDialog.tsx').then(module => module.LogoutDialog))
const MAIN_ID = 'main'
const COLLAPSED_KEY = 'berth.drawer-collapsed'

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
  const drawer = useDrawer()
  // One for all: what opens from the palette gives the focus back to where the palette was opened from.
  const opener = useRef<Element | null>(null)
  const menu = useOverlay(opener)
  const palette = useOverlay(opener)
  const sheet = useOverlay(opener)
  const logout = useOverlay(opener)
  const commands: ShellCommands = {
    openMenu: menu.open,
    openPalette: palette.open,
    showShortcuts: sheet.open,
    logOut: logout.open,
  }
  useShellShortcuts({ palette, showShortcuts: sheet.open, toggleDrawer: drawer.toggle })

  useDocumentTitle(useNamedPage() ?? pageTitle(pathname, t), brand)
  useEffect(() => loadAnalytics(settings?.brand.analytics ?? null), [settings])
  const main = useFocusOnChange(pathname)
  const isStale = useLostSince() !== null

  return (
    <div className={classes.shell}>
      <a href={`#${MAIN_ID}`} className={classes.skip}>
        {t('shell.skip')}
      </a>
      <SideBar brand={brand} collapsed={drawer.collapsed} onToggle={drawer.toggle} />
      <div className={classes.body}>
        <Header brand={brand} docsUrl={settings?.brand.docs_url} commands={commands} />
        <ConnectionLine />
        {user && !user.emailVerified && <VerifyBanner user={user} mailbox={settings?.mailbox ?? false} />}
        <main
          ref={main}
          id={MAIN_ID}
          tabIndex={-1}
          className={classes.main}
          data-stale={isStale || undefined}
        >
          <Outlet />
        </main>
      </div>
      <BackToTop />
      <Suspense>
        {menu.opened && <MobileMenu brand={brand} onClose={menu.close} />}
        {palette.wanted && (
          <CommandPalette opened={palette.opened} onClose={palette.close} commands={commands} />
        )}
        {sheet.wanted && <ShortcutSheet opened={sheet.opened} onClose={sheet.close} />}
        {logout.wanted && <LogoutDialog opened={logout.opened} onClose={logout.close} />}
      </Suspense>
      <ConfirmSignIn mailbox={settings?.mailbox ?? false} />
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

interface Overlay {
  opened: boolean
  /** It was opened once: its code is loaded from then on, and it stays to be drawn while it closes. */
  wanted: boolean
  open: () => void
  close: () => void
}

function useOverlay(opener: RefObject<Element | null>): Overlay {
  const [state, setState] = useState({ opened: false, wanted: false })
  const open = useCallback(() => {
    opener.current = openerNow() ?? opener.current
    setState({ opened: true, wanted: true })
  }, [opener])
  const close = useCallback(() => {
    setState(before => ({ ...before, opened: false }))
    focusBack(() => (opener.current instanceof HTMLElement ? opener.current : null))
  }, [opener])
  return { ...state, open, close }
}

/** What an overlay that opens now gives the focus back to; null where that is what opened the one before it. */
function openerNow(): Element | null {
  const focused = document.activeElement
  if (!focused || focused === document.body || focused.closest('[role="dialog"]')) return null
  // The items of a menu are gone with it; its button stays, and names it.
  const menu = focused.closest('[role="menu"]')
  return menu ? document.getElementById(menu.getAttribute('aria-labelledby') ?? '') : focused
}

/** Whether the drawer is collapsed; the choice is kept on this device (R2.12). */
function useDrawer() {
  const [collapsed, setCollapsed] = useState(() => readKept(COLLAPSED_KEY) === 'yes')
  const toggle = () => {
    setCollapsed(!collapsed)
    keep(COLLAPSED_KEY, collapsed ? 'no' : 'yes')
  }
  return { collapsed, toggle }
}

interface ShellKeys {
  palette: Overlay
  showShortcuts: () => void
  toggleDrawer: () => void
}

/** Carries out the shortcuts of the table. */
function useShellShortcuts({ palette, showShortcuts, toggleDrawer }: ShellKeys): void {
  const navigate = useNavigate()
  useShortcuts(({ act, path }: Shortcut) => {
    switch (act) {
      case 'palette':
        if (palette.opened) palette.close()
        // Another dialog waits for an answer; the browser's own Ctrl+K would only lead further away from it.
        else if (!isDialogOpen()) palette.open()
        return true
      case 'sheet':
        showShortcuts()
        return true
      case 'menu':
        toggleDrawer()
        return true
      case 'filter':
        return focusFilter()
      case 'go':
        void navigate({ to: path ?? '/' })
        return true
    }
  })
}

/** Moves the focus to the page's filter, if it has one. */
function focusFilter(): boolean {
  const filter = document.querySelector<HTMLInputElement>(`#${MAIN_ID} input[type="search"]`)
  filter?.focus()
  filter?.select()
  return filter !== null
}
