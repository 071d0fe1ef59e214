import { MantineProvider } from '@mantine/core'
import { lazy, type ReactNode, Suspense, useSyncExternalStore } from 'react'
import { pageNonce } from '../ui/page-nonce.ts'
import { paymentsOfPage } from '../ui/payments-of-page.ts'
import { MoneyNote } from './MoneyNote.tsx'
import { PagePending } from './PagePending.tsx'
import { colorSchemeManager } from './theme/color-scheme.ts'
import { mantineTheme } from './theme/mantine-theme.ts'
import { areToastsWanted, subscribeToasts } from './toast-loader.ts'

const Toasts = lazy(() => import('../ui/Toasts.tsx').then(module => ({ default: module.Toasts })))

/** What every page stands in: the theme, and the place where toasts appear. */
export function Providers({ children }: { children: ReactNode }) {
  const toastsWanted = useSyncExternalStore(subscribeToasts, areToastsWanted)
  return (
    <MantineProvider
      theme={mantineTheme}
      colorSchemeManager={colorSchemeManager}
      defaultColorScheme="auto"
      // Our variables stand in files; a style element made here would need the page's nonce.
      withCssVariables={false}
      // While the theme changes Mantine holds transitions back with one.
      getStyleNonce={pageNonce}
      withGlobalClasses={false}
    >
      <Suspense fallback={<PagePending />}>
        {paymentsOfPage() === 'test' && <MoneyNote />}
        {children}
      </Suspense>
      {toastsWanted && (
        <Suspense>
          <Toasts />
        </Suspense>
      )}
    </MantineProvider>
  )
}
